import { answerQuestions } from '../support/child.js'
import type { Framework, Open, Way } from './contestants.js'

/** A server's own figures. */
export interface ServerStats {
  readonly port: number
  /** How often the handler has run. */
  readonly handled: number
  /** Of all threads of the process, so including garbage collection. */
  readonly cpuMicros: number
}

const [framework, way] = process.argv.slice(2) as [Framework, Way]
const APPS: Readonly<Record<Framework, () => Promise<Partial<Record<Way, Open>>>>> = {
  express: async () => (await import('./apps/express.js')).expressApps,
  fastify: async () => (await import('./apps/fastify.js')).fastifyApps,
  hono: async () => (await import('./apps/hono.js')).honoApps,
}
let handled = 0
const opened = start()

async function start(): Promise<number> {
  const open = (await APPS[framework]())[way]
  if (open === undefined) throw new TypeError(`There is no ${way} for ${framework}`)
  return open(() => {
    handled += 1
  })
}

answerQuestions(async (): Promise<ServerStats> => {
  const port = await opened
  const { user, system } = process.cpuUsage()
  return { port, handled, cpuMicros: user + system }
})
