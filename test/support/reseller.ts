import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { dirname, join } from 'node:path'
import { build } from 'esbuild'
import { Pool } from 'pg'
import { vi } from 'vitest'
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

/** A process of the service, which keeps its port when it is started again. */
export interface Instance {
  readonly url: string
  /** Whether it is ready, and nobody has ended it. */
  readonly isUp: boolean
  start(): Promise<void>
  /** Signals it, and waits for its end: an exit code, or the name of the signal. */
  end(signal: NodeJS.Signals): Promise<number | NodeJS.Signals>
  /** What it printed. */
  readonly output: string
}

/** Bundles the example, because a process starts from that in a third of the time, and creates its tables. */
export async function openReseller(env: Readonly<Record<string, string>>): Promise<Reseller> {
  const { write, remove } = snippetsFolder()
  const outdir = dirname(write('placeholder', ''))
  await build({
    entryPoints: ['migrate', 'service'].map((name) => join(ROOT, `examples/reseller/${name}.ts`)),
    outdir,
    bundle: true,
    platform: 'node',
    format: 'esm',
    packages: 'external',
    outExtension: { '.js': '.mjs' },
    logLevel: 'error',
  })
  const name = `tix_reseller_${randomBytes(6).toString('hex')}`
  const server = new Pool({ connectionString: postgresUrl(), max: 1 })
  await server.query(`CREATE DATABASE ${name}`)
  const url = new URL(postgresUrl())
  url.pathname = `/${name}`
  const settings = { PATH: process.env.PATH, DATABASE_URL: url.href, ...env }
  const launch = (program: string, more = {}): ChildProcess =>
    spawn(process.execPath, [join(outdir, `${program}.mjs`)], {
      env: { ...settings, ...more },
      stdio: ['ignore', 'pipe', 'pipe'],
    })

  const migrating = launch('migrate')
  const printed = outputOf(migrating)
  const [code] = await once(migrating, 'close')
  if (code !== 0) throw new Error(`migrate.ts ended with ${code}: ${printed()}`)

  const instances: Instance[] = []
  const pool = new Pool({ connectionString: url.href, max: 2 }).on('error', () => {})
  return {
    pool,
    async instance() {
      const PORT = String(await freePort())
      const instance = instanceOf(`http://127.0.0.1:${PORT}`, () => launch('service', { PORT }))
      instances.push(instance)
      return instance
    },
    async close() {
      await Promise.all(instances.map((instance) => instance.end('SIGKILL')))
      await pool.end()
      await server.query(`DROP DATABASE ${name} WITH (FORCE)`)
      await server.end()
      remove()
    },
  }
}

function instanceOf(url: string, launch: () => ChildProcess): Instance {
  let child: ChildProcess | undefined
  let exited: Promise<unknown[]> | undefined
  let printed = (): string => ''
  let isUp = false
  return {
    url,
    get isUp() {
      return isUp
    },
    get output() {
      return printed()
    },
    async start() {
      child = launch()
      exited = once(child, 'close')
      printed = outputOf(child)
      void exited.then(() => {
        isUp = false
      })
      const isReady = async () => {
        if (child?.exitCode !== null) return
        if (!(await fetch(`${url}/ready`)).ok) throw new Error('It is not ready')
      }
      await vi.waitFor(isReady, { timeout: 30_000, interval: 20 })
      if (child.exitCode !== null) throw new Error(`The service ended at its start: ${printed()}`)
      isUp = true
    },
    async end(signal) {
      isUp = false
      child?.kill(signal)
      const [code, name] = (await exited) ?? []
      return (code ?? name) as number | NodeJS.Signals
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
