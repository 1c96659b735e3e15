import { spawn, spawnSync } from 'node:child_process'
import { HERE } from './folders.js'
import type { Lane } from './lanes.js'

/** A server that has been started. */
export interface Server {
  readonly port: number
  /** What it has printed. */
  printed(): string
  stop(): void
}

const START_SECONDS = 60
const LISTENING = /^listening (\d+)$/m

/** Starts the server of a lane, which chooses a free port. */
export async function startServer(lane: Lane): Promise<Server> {
  const [program, ...args] = lane.command
  let printed = ''
  // A group of its own: some hosts start further processes, which must end with them.
  const child = spawn(program, args, {
    cwd: lane.cwd ?? HERE,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const port = await new Promise<number>((resolve, reject) => {
    const fail = (why: string): void => reject(new Error(`${lane.name} ${why}:\n${printed}`))
    const timer = setTimeout(() => fail(`was not listening after ${START_SECONDS} s`), START_SECONDS * 1_000)
    const read = (part: string): void => {
      printed += part
      const found = LISTENING.exec(printed)?.[1]
      if (found === undefined) return
      clearTimeout(timer)
      resolve(Number(found))
    }
    child.stdout.setEncoding('utf8').on('data', read)
    child.stderr.setEncoding('utf8').on('data', read)
    child.on('error', (error) => fail(error.message))
    child.on('exit', (code) => fail(`ended with ${code}`))
  }).catch((error: unknown) => {
    stop()
    throw error
  })
  process.once('exit', stop)
  return { port, stop, printed: () => printed }

  function stop(): void {
    process.off('exit', stop)
    try {
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
    } catch {
      // It has ended by itself.
    }
  }
}

/** Runs the build of a lane, if it has one. */
export function buildHost({ name, build, cwd = HERE }: Lane): void {
  if (build === undefined) return
  const [program, ...args] = build
  const { status, stdout, stderr } = spawnSync(program, args, {
    cwd,
    encoding: 'utf8',
    env: buildEnvironment(),
  })
  if (status !== 0) throw new Error(`${name} was not built:\n${stdout}\n${stderr}`)
}

/** No secret is in it: a host must be built without one. */
function buildEnvironment(): NodeJS.ProcessEnv {
  const { TIX_SIGNING_SECRET: _, ...rest } = process.env
  return { ...rest, NODE_ENV: 'production', NEXT_TELEMETRY_DISABLED: '1' }
}
