import { type SpawnOptions, spawn } from 'node:child_process'
import { rmSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { constants, tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from './free-port.js'
import { WAIT_LIMIT_MS } from './patience.js'

/** A running process. */
export interface ServerProcess {
  /** Sends a signal, unless it has exited, and waits until it and all its children have. */
  end(signal: NodeJS.Signals): Promise<void>
}

export interface ServerCommand {
  readonly file: string
  readonly args: readonly string[]
  readonly options?: SpawnOptions
  /** Its output when it is ready. */
  readonly ready: RegExp
  /** A signal that ends it at once, and leaves nothing in the system. */
  readonly abort: NodeJS.Signals
}

const aborts = new Set<() => void>()
const folders = new Set<string>()

/** Starts a process, and waits until it prints that it is ready. */
export async function startProcess(command: ServerCommand): Promise<ServerProcess> {
  const { file, args, options, ready, abort } = command
  cleanUpAtExit()
  const child = spawn(file, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] })
  const kill = (): void => void child.kill(abort)
  aborts.add(kill)
  // Not 'exit': a server's children share its output, which is closed when the last of them exits.
  const exited = new Promise<void>((resolve) => {
    child.once('close', () => {
      aborts.delete(kill)
      resolve()
    })
  })

  let output = ''
  await new Promise<void>((resolve, reject) => {
    const fail = (how: string): void => {
      clearTimeout(timer)
      reject(new Error(`${file} ${how}${output === '' ? '' : `:\n${output}`}`))
    }
    const timer = setTimeout(() => {
      fail(`was not ready within ${WAIT_LIMIT_MS} ms`)
      kill()
    }, WAIT_LIMIT_MS)
    const read = (chunk: Buffer): void => {
      output += chunk
      if (!ready.test(output)) return
      clearTimeout(timer)
      // Later output is not used, but must be read.
      for (const stream of [child.stdout, child.stderr]) stream.off('data', read).resume()
      resolve()
    }
    for (const stream of [child.stdout, child.stderr]) stream.on('data', read)
    child.once('error', (error) => {
      clearTimeout(timer)
      reject(error)
    })
    child.once('close', (code, signal) => fail(`ended with ${signal ?? code} before it was ready`))
  })

  return {
    async end(signal) {
      child.kill(signal)
      await exited
    },
  }
}

/** A test's own server, on a loopback port and in a temporary folder. */
export interface TestServer {
  readonly url: string
  readonly port: number
  /** Ends it and keeps its data. Default: as in a crash. */
  kill(signal?: NodeJS.Signals): Promise<void>
  /** Ends it, if it is still running, and restarts it on the same port with the same data. Default `SIGTERM`. */
  restart(signal?: NodeJS.Signals): Promise<void>
  /** Ends it and removes its data. */
  stop(): Promise<void>
}

export interface ServerPlan {
  readonly folder: string
  /** Default: a free one. */
  readonly port?: number | undefined
  readonly abort: NodeJS.Signals
  launch(port: number): Promise<ServerProcess>
  url(port: number): string
}

/** Starts a server; its folder is removed with it. */
export async function startServer({ folder, abort, launch, url, ...plan }: ServerPlan): Promise<TestServer> {
  const started = await launchOn(plan.port, launch).catch(async (error: unknown) => {
    await removeFolder(folder)
    throw error
  })
  const { port } = started
  let { running } = started
  return {
    port,
    url: url(port),
    kill: (signal = abort) => running.end(signal),
    async restart(signal = 'SIGTERM') {
      await running.end(signal)
      running = await launch(port)
    },
    async stop() {
      await running.end(abort)
      await removeFolder(folder)
    },
  }
}

/** A free port may be taken before the server has bound it. */
async function launchOn(given: number | undefined, launch: ServerPlan['launch'], attempts = 5) {
  for (;;) {
    const port = given ?? (await freePort())
    try {
      return { port, running: await launch(port) }
    } catch (error) {
      const isTaken = error instanceof Error && /address already in use/i.test(error.message)
      if (!isTaken || given !== undefined || --attempts === 0) throw error
    }
  }
}

/** Makes a temporary folder. */
export async function makeFolder(parent = tmpdir()): Promise<string> {
  cleanUpAtExit()
  const folder = await mkdtemp(join(parent, 'tix-webhooks-'))
  folders.add(folder)
  return folder
}

/** Removes a folder that `makeFolder` made. */
export async function removeFolder(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true, maxRetries: 10 })
  folders.delete(folder)
}

let isCleanedUpAtExit = false

/** Servers outlive the process that started them, so this also runs when a test run is interrupted. */
function cleanUpAtExit(): void {
  if (isCleanedUpAtExit) return
  isCleanedUpAtExit = true
  process.once('exit', () => {
    for (const abort of aborts) abort()
    for (const folder of folders) rmSync(folder, { recursive: true, force: true, maxRetries: 10 })
  })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.once(signal, () => process.exit(128 + constants.signals[signal]))
  }
  // In a test runner's worker, when the runner itself was killed.
  process.once('disconnect', () => process.exit(1))
}
