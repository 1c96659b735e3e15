import { execFile, spawn } from 'node:child_process'
import { connect, createServer } from 'node:net'
import { promisify } from 'node:util'
import { SECRET } from '../app/contract.js'
import { HERE } from './folders.js'
import type { Lane } from './lane.js'

/** A server that has been started. */
export interface Server {
  readonly port: number
  /** Its output so far. */
  printed(): string
  stop(): void
}

const START_SECONDS = 60
const LISTENING = /^listening (\d+)$/m

/** Starts the server of a lane on a free port. */
export async function startServer(lane: Lane, env: NodeJS.ProcessEnv = {}): Promise<Server> {
  const [program, ...args] = lane.command
  let printed = ''
  let ended: string | undefined
  const given = lane.isToldPort ? await freePort() : 0
  // A group of its own: some hosts start further processes, which must end with them.
  const child = spawn(
    program,
    args.map((one) => one.replace('$PORT', String(given))),
    {
      cwd: lane.cwd ?? HERE,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        ...process.env,
        ...env,
        NODE_ENV: 'production',
        PORT: String(given),
        TIX_SIGNING_SECRET: SECRET,
      },
    },
  )
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (part: string) => {
      printed += part
    })
  }
  child.on('error', (error) => {
    ended = error.message
  })
  child.on('exit', (code) => {
    ended ??= `ended with ${code}`
  })
  process.once('exit', stop)
  const end = performance.now() + START_SECONDS * 1_000
  while (performance.now() < end && ended === undefined) {
    const port = lane.isToldPort ? given : Number(LISTENING.exec(printed)?.[1] ?? 0)
    if (port > 0 && (await isOpen(port))) return { port, stop, printed: () => printed }
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  stop()
  throw new Error(`${lane.name} ${ended ?? `was not listening after ${START_SECONDS} s`}:\n${printed}`)

  function stop(): void {
    process.off('exit', stop)
    try {
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
    } catch {
      // It has ended by itself.
    }
  }
}

const exec = promisify(execFile)

/** Builds the projects of these lanes, each once; without the secret, as in a Docker image. */
export async function buildHosts(lanes: readonly Lane[]): Promise<void> {
  const { TIX_SIGNING_SECRET: _, ...rest } = process.env
  const env = { ...rest, NODE_ENV: 'production', NEXT_TELEMETRY_DISABLED: '1' }
  const builds = new Map(lanes.flatMap((lane) => (lane.build ? [[lane.cwd, lane] as const] : [])))
  for (const { name, build = [], cwd } of builds.values()) {
    const [program = '', ...args] = build
    const startedAtMs = performance.now()
    await exec(program, args, { cwd, env }).catch(({ stdout, stderr }) => {
      throw new Error(`${name} was not built:\n${stdout}\n${stderr}`)
    })
    console.error(`built ${name} ${((performance.now() - startedAtMs) / 1_000).toFixed(1)} s`)
  }
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number }
      server.close(() => resolve(port))
    })
  })
}

function isOpen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.on('connect', () => resolve(true)).on('error', () => resolve(false))
    socket.on('connect', () => socket.destroy())
  })
}
