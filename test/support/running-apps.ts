import { fork } from 'node:child_process'
import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { join } from 'node:path'
import { build } from 'esbuild'
import { afterAll, afterEach } from 'vitest'
import {
  type AppMessage,
  type AppSettings,
  DELIVERY_HEADER,
  FAIL_HEADER,
  type Mark,
  NOT_KEPT_HEADER,
  STOP_HEADER,
} from './apps/protocol.js'
import { orderCreated, type SignedDelivery, sign } from './deliveries.js'
import { ROOT } from './root.js'
import { makeFolder, removeFolder } from './server-process.js'

export type Program = 'store' | 'inbox' | 'failures'

/** A signed event of the service. */
export interface Order extends SignedDelivery {
  readonly id: string
}

export async function newOrder(): Promise<Order> {
  const event = orderCreated()
  return { id: event.data.order.id, ...(await sign(event)) }
}

export function newOrders(count: number): Promise<Order[]> {
  return Promise.all(Array.from({ length: count }, newOrder))
}

interface Answer {
  readonly status: number
  readonly outcome: string
  readonly retryAfter?: number
  /** Present if the receiver reported that it could not keep the failure. */
  readonly notKept?: true
}

/** The end of a delivery: an answer; or it is stopped at its mark; or its app was killed. */
export type End = Answer | 'stopped' | 'cut off'

/** A separate process with an HTTP server. */
export interface App {
  deliver(order: SignedDelivery, what?: { readonly stopAt?: Mark; readonly fail?: boolean }): Promise<End>
  /** Kills it with SIGKILL, and waits until it is gone. */
  kill(): Promise<void>
}

/** Starts apps for the tests of a file, and stops all of them. */
export function useApps(): {
  start(program: Program, settings: AppSettings): Promise<App>
} {
  const bundles = new Map<Program, Promise<string>>()
  const running = new Set<Promise<App>>()
  let folder: Promise<string> | undefined

  /** One file for the whole program: a process with it starts in a third of the time of a TypeScript loader. */
  async function bundle(program: Program): Promise<string> {
    folder ??= makeFolder()
    const file = join(await folder, `${program}.cjs`)
    await build({
      entryPoints: [join(ROOT, `test/support/apps/${program}.ts`)],
      outfile: file,
      bundle: true,
      platform: 'node',
      format: 'cjs',
      external: ['pg-native'],
      logLevel: 'error',
    })
    return file
  }

  async function start(program: Program, settings: AppSettings): Promise<App> {
    const bundled = bundles.get(program) ?? bundle(program)
    bundles.set(program, bundled)
    const starting = bundled.then((file) => startApp(file, settings))
    running.add(starting)
    return starting
  }

  afterEach(async () => {
    await Promise.all([...running].map((starting) => starting.then((app) => app.kill())))
    running.clear()
  })
  afterAll(async () => {
    if (folder !== undefined) await removeFolder(await folder)
  })
  return { start }
}

async function startApp(file: string, settings: AppSettings): Promise<App> {
  const child = fork(file, [JSON.stringify(settings)], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  const exited = once(child, 'exit')
  const stopped = new Map<string, () => void>()
  const port = await new Promise<number>((resolve, reject) => {
    child.on('message', (message: AppMessage) => {
      if ('port' in message) resolve(message.port)
      else stopped.get(message.stopped)?.()
    })
    child.once('exit', (code) => reject(new Error(`The app ended with ${code} before it listened`)))
  })
  const agent = new Agent({ keepAlive: true })
  let count = 0

  return {
    deliver(order, { stopAt, fail = false } = {}) {
      const id = String(count++)
      const headers = {
        [DELIVERY_HEADER]: id,
        ...(stopAt === undefined ? {} : { [STOP_HEADER]: stopAt }),
        ...(fail ? { [FAIL_HEADER]: 'yes' } : {}),
      }
      const reached = new Promise<'stopped'>((resolve) => stopped.set(id, () => resolve('stopped')))
      return Promise.race([reached, post(port, agent, order, headers)]).finally(() => stopped.delete(id))
    },
    async kill() {
      child.kill('SIGKILL')
      await exited
      agent.destroy()
    },
  }
}

function post(
  port: number,
  agent: Agent,
  { header, body }: SignedDelivery,
  more: Readonly<Record<string, string>>,
): Promise<Answer | 'cut off'> {
  return new Promise((resolve) => {
    const headers = { ...more, 'x-service-signature': header, 'content-length': body.length }
    const sent = request({ host: '127.0.0.1', method: 'POST', path: '/hooks', port, agent, headers })
    sent.on('error', () => resolve('cut off'))
    sent.on('response', (response) => {
      let text = ''
      response.on('data', (chunk) => {
        text += chunk
      })
      response.on('error', () => resolve('cut off'))
      response.on('end', () => {
        const retryAfter = response.headers['retry-after']
        resolve({
          status: response.statusCode ?? 0,
          outcome: JSON.parse(text).outcome,
          ...(retryAfter === undefined ? {} : { retryAfter: Number(retryAfter) }),
          ...(response.headers[NOT_KEPT_HEADER] === undefined ? {} : { notKept: true }),
        })
      })
    })
    sent.end(body)
  })
}
