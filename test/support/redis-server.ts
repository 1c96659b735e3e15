import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { makeFolder, startProcess, startServer, type TestServer } from './server-process.js'

export interface RedisServerOptions {
  /** More arguments for `redis-server`, such as `--appendonly yes`, each word a separate string. */
  readonly args?: readonly string[]
  /** Default: a free one. */
  readonly port?: number
}

export interface RedisServer extends TestServer {
  /** Ends it and keeps its data on disk. Default `SIGKILL`, as in a crash. */
  kill(signal?: NodeJS.Signals): Promise<void>
  /** Ends it, if it is still running, and restarts it on the same port with the same folder. Default `SIGTERM`. */
  restart(signal?: NodeJS.Signals): Promise<void>
}

/** Starts a Redis on a loopback port. It keeps nothing on disk, unless the arguments say so. */
export async function startRedis({ args = [], port }: RedisServerOptions = {}): Promise<RedisServer> {
  const folder = await makeFolder()
  const server = await startServer({
    folder,
    port,
    abort: 'SIGKILL',
    url: (chosen) => `redis://127.0.0.1:${chosen}`,
    launch: (chosen) =>
      startProcess({
        file: 'redis-server',
        args: ['--port', `${chosen}`, '--bind', '127.0.0.1', '--dir', folder, ...NOTHING_ON_DISK, ...args],
        ready: /Ready to accept connections/,
        abort: 'SIGKILL',
      }).catch(explain),
  })
  return {
    ...server,
    kill: (signal = 'SIGKILL') => server.kill(signal),
    restart: (signal = 'SIGTERM') => server.restart(signal),
  }
}

/** Rejects with advice if `startRedis` has nothing to start. */
export async function findRedis(): Promise<void> {
  await promisify(execFile)('redis-server', ['--version']).catch(explain)
}

const NOTHING_ON_DISK = ['--save', '', '--appendonly', 'no']

function explain(error: unknown): never {
  if (error instanceof Error && 'code' in error && error.code === 'ENOENT') {
    throw new Error('redis-server is not on PATH (apt-get install redis-server, or set REDIS_URL)', {
      cause: error,
    })
  }
  throw error
}
