import { execFile } from 'node:child_process'
import { access, constants } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { makeFolder, removeFolder, startProcess, startServer, type TestServer } from './server-process.js'

export interface MysqlServerOptions {
  /** Default: a free one. */
  readonly port?: number
  /** Server settings, such as `max_connections`. */
  readonly settings?: Readonly<Record<string, string | number>>
}

export interface MysqlServer extends TestServer {
  /** Ends it and keeps its data. Default `SIGKILL`: a crash, with recovery at the next start. */
  kill(signal?: NodeJS.Signals): Promise<void>
  /** Ends it, if it is still running, and restarts it on the same port with the same data. Default `SIGTERM`. */
  restart(signal?: NodeJS.Signals): Promise<void>
}

/** Starts a MariaDB on a loopback port, with the user `root`, no password, and no database of a user. */
export async function startMysql({ port, settings = {} }: MysqlServerOptions = {}): Promise<MysqlServer> {
  const { install, server: file } = await findMysql()
  const folder = await makeFolder()
  const data = join(folder, 'data')
  // What it writes for a statement would outlive a crash.
  const options = { cwd: folder, env: { ...process.env, TMPDIR: folder } }
  const base = ['--no-defaults', `--datadir=${data}`, ...asUser(), ...flags(SMALL)]
  try {
    await promisify(execFile)(install, [...base, ...NEW_DATA], options)
  } catch (error) {
    await removeFolder(folder)
    throw error
  }
  const server = await startServer({
    folder,
    port,
    abort: 'SIGKILL',
    url: (chosen) => `mysql://root@127.0.0.1:${chosen}/`,
    launch: (chosen) =>
      startProcess({
        file,
        args: [...base, ...flags({ ...SETTINGS, port: chosen, ...settings })],
        options,
        ready: /ready for connections/,
        abort: 'SIGKILL',
      }),
  })
  return {
    ...server,
    kill: (signal = 'SIGKILL') => server.kill(signal),
    restart: (signal = 'SIGTERM') => server.restart(signal),
  }
}

/** Rejects with advice if `startMysql` has no programs to start. */
export async function findMysql(): Promise<{ install: string; server: string }> {
  const [install, server] = await Promise.all([locate('mariadb-install-db'), locate('mariadbd')])
  if (install === undefined || server === undefined) {
    throw new Error('mariadbd is not installed (apt-get install mariadb-server, or set MYSQL_URL)')
  }
  return { install, server }
}

/** Files that are written and flushed at each start are a third of their default size. */
const SMALL = { innodb_log_file_size: '8M', innodb_buffer_pool_size: '32M' }

/** Without a look at the network's names, and without a database that everybody may write. */
const NEW_DATA = ['--force', '--skip-test-db', '--auth-root-authentication-method=normal']

const SETTINGS = {
  bind_address: '127.0.0.1',
  skip_name_resolve: 1,
  // Relative to its data: the whole path could be longer than a socket's may be.
  socket: 's',
  // As Debian configures it, and as is the default of MySQL 8.
  character_set_server: 'utf8mb4',
  max_connections: 500,
}

const flags = (settings: Readonly<Record<string, string | number>>): string[] =>
  Object.entries(settings).map(([name, value]) => `--${name}=${value}`)

/** It runs as root only if it is told to. */
const asUser = (): string[] => (process.getuid?.() === 0 ? ['--user=root'] : [])

/** Debian installs servers in `sbin`, which is not on the `PATH` of a user. */
async function locate(program: string): Promise<string | undefined> {
  const folders = (process.env.PATH ?? '').split(delimiter).filter((folder) => folder !== '')
  for (const folder of [...folders, ...folders.map((one) => join(one, '..', 'sbin'))]) {
    const file = join(folder, program)
    const isThere = await access(file, constants.X_OK).then(
      () => true,
      () => false,
    )
    if (isThere) return file
  }
  return undefined
}
