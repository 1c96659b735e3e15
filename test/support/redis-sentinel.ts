import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { startRedis } from './redis-server.js'
import { makeFolder, startProcess, startServer, type TestServer } from './server-process.js'

const DOWN_AFTER_MS = 500
const KNOWN_WITHIN_MS = 20_000

/** A primary and two replicas that a Sentinel monitors, under the name `main`. */
export interface GuardedRedis {
  readonly sentinelPort: number
  readonly primaryUrl: string
  /** Stops the primary's process (SIGSTOP) until a replica is promoted. */
  pauseUntilPromoted(): Promise<{ promotedUrl: string }>
  /** Lets the primary continue: the Sentinel makes it a replica only some ten seconds later. */
  resume(): void
  stop(): Promise<void>
}

/** Starts them, and waits until the replicas have caught up and the Sentinel knows them. */
export async function startGuardedRedis(): Promise<GuardedRedis> {
  const primary = await startRedis({ args: ['--repl-diskless-sync-delay', '0'] })
  const replicas = await Promise.all(
    [1, 2].map(() => startRedis({ args: ['--replicaof', '127.0.0.1', `${primary.port}`] })),
  )
  const admin = new Redis(primary.url)
  await admin.set('caught-up', 'yes')
  if ((await admin.wait(2, 15_000)) !== 2) throw new Error('The replicas do not follow')
  const pid = Number(/^process_id:(\d+)/m.exec(await admin.info('server'))?.[1])
  admin.disconnect()

  const sentinel = await startSentinel(primary.port)
  const watcher = new Redis(sentinel.url)
  const deadline = performance.now() + KNOWN_WITHIN_MS
  while (!/\bslaves=2\b/.test(await watcher.info('sentinel'))) {
    if (performance.now() > deadline) throw new Error('The Sentinel does not know the replicas')
    await pause(20)
  }
  const switched = new Promise<string>((resolve) => {
    watcher.once('message', (_channel, message) => resolve(message))
  })
  await watcher.subscribe('+switch-master')

  return {
    sentinelPort: sentinel.port,
    primaryUrl: primary.url,
    async pauseUntilPromoted() {
      process.kill(pid, 'SIGSTOP')
      const [, , , host, port] = (await switched).split(' ')
      return { promotedUrl: `redis://${host}:${port}` }
    },
    resume: () => void process.kill(pid, 'SIGCONT'),
    async stop() {
      watcher.disconnect()
      await Promise.all([sentinel, primary, ...replicas].map((server) => server.stop()))
    },
  }
}

async function startSentinel(primaryPort: number): Promise<TestServer> {
  const folder = await makeFolder()
  return startServer({
    folder,
    abort: 'SIGKILL',
    url: (port) => `redis://127.0.0.1:${port}`,
    async launch(port) {
      // The Sentinel writes its state into the file.
      const file = join(folder, 'sentinel.conf')
      const lines = [
        `port ${port}`,
        'bind 127.0.0.1',
        `dir ${folder}`,
        `sentinel monitor main 127.0.0.1 ${primaryPort} 1`,
        `sentinel down-after-milliseconds main ${DOWN_AFTER_MS}`,
      ]
      await writeFile(file, `${lines.join('\n')}\n`)
      return startProcess({
        file: 'redis-server',
        args: [file, '--sentinel'],
        ready: /\+monitor master main/,
        abort: 'SIGKILL',
      })
    },
  })
}
