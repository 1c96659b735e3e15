import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { makeFolder, startProcess, startServer, type TestServer } from './server-process.js'

export type RedisServer = TestServer

/**
 * Starts a Redis on a loopback port. It keeps nothing on disk, unless the arguments say so.
 *
 * @param options.args more arguments for `redis-server`, such as `--appendonly yes`, each word a separate string
 */
export async function startRedis({
  args = [],
}: {
  readonly args?: readonly string[]
} = {}): Promise<RedisServer> {
  const folder = await makeFolder()
  const nothingOnDisk = ['--save', '', '--appendonly', 'no']
  return startServer({
    folder,
    abort: 'SIGKILL',
    url: (port) => `redis://127.0.0.1:${port}`,
    launch: (port) =>
      startProcess({
        file: 'redis-server',
        args: ['--port', `${port}`, '--bind', '127.0.0.1', '--dir', folder, ...nothingOnDisk, ...args],
        ready: /Ready to accept connections/,
        abort: 'SIGKILL',
      }).catch(explain),
  })
}

/** Rejects with advice if `startRedis` has nothing to start. */
export async function findRedis(): Promise<void> {
  await promisify(execFile)('redis-server', ['--version']).catch(explain)
}

function explain(error: unknown): never {
  if (error instanceof Error && 'code' in error && error.code === 'ENOENT') {
    throw new Error('redis-server is not on PATH (apt-get install redis-server, or set REDIS_URL)', {
      cause: error,
    })
  }
  throw error
}
