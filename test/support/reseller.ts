import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { dirname, join } from 'node:path'
import { Pool } from 'pg'
import { vi } from 'vitest'
import { bundle, KEEPS_CONNECTIONS } from './bundle.js'
import { snippetsFolder } from './compile.js'
import { freePort } from './free-port.js'
import { postgresUrl } from './on-servers.js'
import { ROOT } from './root.js'

/** The example of a reseller, on a database of its own: Graphile Worker has one schema in each. */
export interface Reseller {
  readonly pool: Pool
  /** A process of the service, which is not started yet. */
  instance(): Promise<Instance>
  close(): Promise<void>
}

/** A process of the service, on one port. When it ends unasked it is started again, as a platform does. */
export interface Instance {
  readonly url: string
  /** From when it is ready until it has ended. */
  readonly isUp: boolean
  /** Starts it, and waits until it is ready. */
  start(): Promise<void>
  /** Signals it, and waits for its end: its exit code, or the signal that ended it. */
  end(signal: NodeJS.Signals): Promise<number | NodeJS.Signals>
  /** The output of each end that was not asked for. */
  readonly crashes: readonly string[]
}

/** Bundles the example and creates its tables. */
export async function openReseller(env: Readonly<Record<string, string>>): Promise<Reseller> {
  const { write, remove } = snippetsFolder()
  const before = write('before', KEEPS_CONNECTIONS)
  const outdir = dirname(before)
  const programs = ['migrate', 'service'].map((name) => join(ROOT, `examples/reseller/${name}.ts`))
  await bundle(outdir, [before, ...programs], { entryNames: '[name]' })
  const name = `tix_reseller_${randomBytes(6).toString('hex')}`
  const server = new Pool({ connectionString: postgresUrl(), max: 1 })
  await server.query(`CREATE DATABASE ${name}`)
  const url = new URL(postgresUrl())
  url.pathname = `/${name}`
  const settings = { PATH: process.env.PATH, DATABASE_URL: url.href, ...env }
  const launch = (program: string, more = {}): ChildProcess =>
    spawn(process.execPath, ['--import', join(outdir, 'before.mjs'), join(outdir, `${program}.mjs`)], {
      env: { ...settings, ...more },
      stdio: ['ignore', 'pipe', 'pipe'],
    })

  const migrating = launch('migrate')
  const printed = outputOf(migrating)
  const [code] = await once(migrating, 'close')
  if (code !== 0) throw new Error(`migrate.ts ended with ${code}: ${printed()}`)

  const instances: Instance[] = []
  const pool = new Pool({ connectionString: url.href, max: 1 }).on('error', () => {})
  return {
    pool,
    async instance() {
      const PORT = String(await freePort())
      const instance = instanceOf(`http://127.0.0.1:${PORT}`, () => launch('service', { PORT }))
      instances.push(instance)
      return instance
    },
    async close() {
      await Promise.allSettled(instances.map((instance) => instance.end('SIGKILL')))
      await pool.end()
      await server.query(`DROP DATABASE ${name} WITH (FORCE)`)
      await server.end()
      remove()
    },
  }
}

function instanceOf(url: string, launch: () => ChildProcess): Instance {
  const crashes: string[] = []
  let isUp = false
  let isAsked = false
  let child: ChildProcess | undefined
  let starting: Promise<void> | undefined

  async function begin(): Promise<void> {
    const started = launch()
    const printed = outputOf(started)
    child = started
    started.once('close', () => {
      isUp = false
      if (isAsked) return
      crashes.push(printed())
      starting = begin()
    })
    const isReady = async () => {
      if (started.exitCode === null && !(await fetch(`${url}/ready`)).ok) throw new Error('It is not ready')
    }
    await vi.waitFor(isReady, { timeout: 30_000, interval: 20 })
    isUp = started.exitCode === null
  }

  return {
    url,
    crashes,
    get isUp() {
      return isUp
    },
    start() {
      isAsked = false
      starting = begin()
      return starting
    },
    async end(signal) {
      await starting
      isAsked = true
      if (child === undefined) throw new Error('It was never started')
      const exited = once(child, 'close')
      if (!child.kill(signal)) return child.exitCode ?? (child.signalCode as NodeJS.Signals)
      const [code, name] = await exited
      return code ?? name
    },
  }
}

function outputOf(child: ChildProcess): () => string {
  let text = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (chunk) => {
      text += chunk
    })
  }
  return () => text
}
