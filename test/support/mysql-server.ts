import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { makeFolder, removeFolder, startProcess, startServer, type TestServer } from './server-process.js'

const run = promisify(execFile)

export type MysqlServer = TestServer

/** Debian installs servers in `sbin`, which is not on the `PATH` of a user. */
const ENV = { ...process.env, PATH: `${process.env.PATH}:/usr/local/sbin:/usr/sbin` }

/**
 * Starts a MariaDB on a loopback port, with the user `root`, no password, and no database of a user.
 *
 * @param options.settings of the server, such as `max_connections`
 */
export async function startMysql({
  settings = {},
}: {
  readonly settings?: Readonly<Record<string, string | number>>
} = {}): Promise<MysqlServer> {
  await findMysql()
  const folder = await makeFolder()
  const data = `${folder}/data`
  // The writes of its statements would outlive a crash.
  const options = { cwd: folder, env: { ...ENV, TMPDIR: folder } }
  // It runs as root only if it is told to.
  const asUser = process.getuid?.() === 0 ? ['--user=root'] : []
  const base = ['--no-defaults', `--datadir=${data}`, ...asUser, ...flags(SMALL)]
  await run('mariadb-install-db', [...base, ...NEW_DATA], options).catch(async (error: unknown) => {
    await removeFolder(folder)
    throw error
  })
  return startServer({
    folder,
    abort: 'SIGKILL',
    url: (port) => `mysql://root@127.0.0.1:${port}/`,
    launch: (port) =>
      startProcess({
        file: 'mariadbd',
        args: [...base, ...flags({ ...SETTINGS, port, ...settings })],
        options,
        ready: /ready for connections/,
        abort: 'SIGKILL',
      }),
  })
}

/** Rejects with advice if `startMysql` has no programs to start. */
export async function findMysql(): Promise<void> {
  await run('mariadbd', ['--version'], { env: ENV }).catch((cause: unknown) => {
    throw new Error('mariadbd is not installed (apt-get install mariadb-server, or set MYSQL_URL)', { cause })
  })
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
