import { execFileSync, spawnSync } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { makeFolder, startProcess, startServer, type TestServer } from './server-process.js'

/** Whether `startPgBouncer` has something to start. On CI it must. */
export function hasPgBouncer(): boolean {
  return process.env.CI === 'true' || spawnSync('pgbouncer', ['--version']).status === 0
}

/**
 * Starts a PgBouncer on a loopback port, in front of a Postgres whose user needs no password.
 *
 * @param options.settings of the file, instead of those that have consecutive transactions of a client get different connections
 */
export async function startPgBouncer(
  database: URL,
  { settings = {} }: { readonly settings?: Readonly<Record<string, string | number>> } = {},
): Promise<TestServer> {
  const folder = await makeFolder()
  const file = join(folder, 'pgbouncer.ini')
  execFileSync('chmod', ['755', folder])
  const text = (port: number): string =>
    [
      '[databases]',
      `* = host=127.0.0.1 port=${database.port} user=postgres`,
      '[pgbouncer]',
      ...Object.entries({
        listen_addr: '127.0.0.1',
        listen_port: port,
        unix_socket_dir: '',
        auth_type: 'any',
        pool_mode: 'transaction',
        default_pool_size: 8,
        ...settings,
      }).map(([name, value]) => `${name} = ${value}`),
    ].join('\n')
  return startServer({
    folder,
    abort: 'SIGKILL',
    url: (port) => `postgres://postgres@127.0.0.1:${port}${database.pathname}`,
    async launch(port) {
      await writeFile(file, text(port))
      // It refuses to run as root.
      const user = process.getuid?.() === 0 ? ['-u', 'nobody'] : []
      return startProcess({ file: 'pgbouncer', args: [...user, file], ready: /process up/, abort: 'SIGKILL' })
    },
  })
}
