import { execFile } from 'node:child_process'
import { access, cp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { promisify } from 'node:util'
import { makeFolder, removeFolder, startProcess, startServer, type TestServer } from './server-process.js'

const run = promisify(execFile)

export type MysqlServer = TestServer

/** Debian installs servers in `sbin`, which is not on the `PATH` of a user. */
const ENV = { ...process.env, PATH: `${process.env.PATH}:/usr/local/sbin:/usr/sbin` }

/** The folder of a system with a MySQL, which `npm run test:mysql` installs: the servers of the tests are then of it. */
const MYSQL_ROOT = process.env.MYSQL_ROOT
/** Further options of each of these servers. */
const OPTIONS = process.env.MYSQLD_OPTIONS?.split(' ') ?? []

type Settings = Readonly<Record<string, string | number>>

/** How a server is made and started in a folder. */
interface Program {
  readonly parent: string
  readonly account: string
  find(): Promise<unknown>
  makeData(folder: string): Promise<unknown>
  /** The command, and its arguments so far. */
  command(folder: string): readonly [file: string, ...args: string[]]
}

/**
 * Starts a MariaDB, or a MySQL, on a loopback port, with an account that may do everything, and no database of a user.
 *
 * @param options.settings of the server, such as `max_connections`
 */
export async function startMysql({
  settings = {},
}: {
  readonly settings?: Settings
} = {}): Promise<MysqlServer> {
  const { find, parent, account, makeData, command } = PROGRAM
  await find()
  const folder = await makeFolder(parent)
  await makeData(folder).catch(async (error: unknown) => {
    await removeFolder(folder)
    throw error
  })
  const [file, ...args] = command(folder)
  return startServer({
    folder,
    abort: 'SIGKILL',
    url: (port) => `mysql://${account}@127.0.0.1:${port}/`,
    launch: (port) =>
      startProcess({
        file,
        args: [...args, ...flags({ ...SETTINGS, port, ...settings }), ...OPTIONS],
        options: optionsIn(folder),
        ready: /ready for connections/,
        abort: 'SIGKILL',
      }),
  })
}

/** Rejects with advice if `startMysql` has no programs to start. */
export async function findMysql(): Promise<void> {
  await PROGRAM.find()
}

/** The writes of its statements would outlive a crash. */
function optionsIn(folder: string) {
  return { cwd: folder, env: MYSQL_ROOT === undefined ? { ...ENV, TMPDIR: folder } : ENV }
}

const flags = (settings: Settings): string[] =>
  Object.entries(settings).map(([name, value]) => `--${name}=${value}`)

const SETTINGS = {
  bind_address: '127.0.0.1',
  skip_name_resolve: 1,
  // Relative to its data: the whole path could be longer than a socket's may be.
  socket: 's',
  // As Debian configures it, and as is the default of MySQL 8.
  character_set_server: 'utf8mb4',
  max_connections: 500,
}

/** It runs as root only if it is told to. */
const AS_USER = process.getuid?.() === 0 ? ['--user=root'] : []

/** Files that are written and flushed at each start are a third of their default size. */
const SMALL = flags({ innodb_log_file_size: '8M', innodb_buffer_pool_size: '32M' })

/** Without a look at the network's names, and without a database that everybody may write. */
const NEW_DATA = ['--force', '--skip-test-db', '--auth-root-authentication-method=normal']

const MARIADB: Program = {
  parent: tmpdir(),
  account: 'root',
  find: () =>
    run('mariadbd', ['--version'], { env: ENV }).catch((cause: unknown) => {
      throw new Error('mariadbd is not installed (apt-get install mariadb-server, or set MYSQL_URL)', {
        cause,
      })
    }),
  makeData: (folder) => run('mariadb-install-db', [...argumentsIn(folder), ...NEW_DATA], optionsIn(folder)),
  command: (folder) => ['mariadbd', ...argumentsIn(folder)],
}

function argumentsIn(folder: string): string[] {
  return ['--no-defaults', `--datadir=${folder}/data`, ...AS_USER, ...SMALL]
}

/** With the account of an app: it has a password of caching_sha2_password. */
const MYSQL = (root: string): Program => ({
  parent: `${root}/tmp`,
  account: 'tests:secret',
  find: () => access(`${root}/usr/sbin/mysqld`),
  makeData: (folder) => cp(`${root}/srv/data`, `${folder}/data`, { recursive: true }),
  command: (folder) => [
    'chroot',
    root,
    '/usr/sbin/mysqld',
    '--no-defaults',
    '--user=root',
    '--mysqlx=OFF',
    '--secure-file-priv=NULL',
    ...flags({ innodb_redo_log_capacity: '16M', innodb_buffer_pool_size: '32M' }),
    `--datadir=${folder.slice(root.length)}/data`,
  ],
})

const PROGRAM = MYSQL_ROOT === undefined ? MARIADB : MYSQL(MYSQL_ROOT)
