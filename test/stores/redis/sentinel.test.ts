import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { createSentinel } from 'redis'
import type { RemoteStore } from 'tix-webhooks'
import { redisStore } from 'tix-webhooks/redis'
import { expect, onTestFinished, test } from 'vitest'
import { onOwnRedis } from '../../support/on-servers.js'
import { deferred } from '../../support/promises.js'
import { claimOf, connectIoredis, HOUR_MS, type RedisClient } from '../../support/redis-clients.js'
import { type RedisServer, startRedis } from '../../support/redis-server.js'
import { makeFolder, startProcess, startServer, type TestServer } from '../../support/server-process.js'

/** A Sentinel that monitors a primary under the name `main`. */
async function startSentinel(primary: RedisServer): Promise<TestServer> {
  const folder = await makeFolder()
  return startServer({
    folder,
    abort: 'SIGKILL',
    url: (port) => `redis://127.0.0.1:${port}`,
    async launch(port) {
      // It writes its state into the file.
      const file = join(folder, 'sentinel.conf')
      await writeFile(
        file,
        `port ${port}
bind 127.0.0.1
dir ${folder}
sentinel monitor main 127.0.0.1 ${primary.port} 1
sentinel down-after-milliseconds main 500
`,
      )
      return startProcess({
        file: 'redis-server',
        args: [file, '--sentinel'],
        ready: /\+monitor master main/,
        abort: 'SIGKILL',
      })
    },
  })
}

interface Connected {
  readonly client: RedisClient
  /** Starts to listen for when it leaves the old primary. */
  moved(): Promise<unknown>
}

async function connectIoredisTo(port: number, failoverDetector: boolean): Promise<Connected> {
  const client = new Redis({
    name: 'main',
    sentinels: [{ host: '127.0.0.1', port }],
    failoverDetector,
    retryStrategy: () => 20,
    lazyConnect: true,
  })
  client.on('error', () => {})
  onTestFinished(() => client.disconnect())
  await client.connect()
  return { client, moved: async () => failoverDetector && once(client, 'ready') }
}

const connectDetecting = (port: number) => connectIoredisTo(port, true)
const connectPlain = (port: number) => connectIoredisTo(port, false)

async function connectNodeRedis(port: number): Promise<Connected> {
  const client = createSentinel({ name: 'main', sentinelRootNodes: [{ host: '127.0.0.1', port }] })
  client.on('error', () => {})
  onTestFinished(() => client.destroy())
  await client.connect()
  const { promise, resolve } = deferred<void>()
  client.on('topology-change', ({ type }: { type: string }) => {
    if (type === 'MASTER_CHANGE') resolve()
  })
  return { client, moved: () => promise }
}

interface Row {
  readonly name: string
  readonly connect: (port: number) => Promise<Connected>
  /** Which server has its records after the failover. */
  readonly writesTo: 'the promoted one' | 'the old one'
}

const ROWS: readonly Row[] = [
  { name: 'ioredis with failoverDetector', connect: connectDetecting, writesTo: 'the promoted one' },
  { name: 'createSentinel of node-redis', connect: connectNodeRedis, writesTo: 'the promoted one' },
  // The others avoid this loss: the old primary is wiped when the Sentinel makes it a replica, some ten seconds later.
  { name: 'ioredis as it is', connect: connectPlain, writesTo: 'the old one' },
]

onOwnRedis('a primary that was paused, and goes on after a replica was promoted', () => {
  test('takes no records of the clients that docs/stores.md recommends', async () => {
    const primary = await startRedis({ args: ['--repl-diskless-sync-delay', '0'] })
    const follow = ['--replicaof', '127.0.0.1', `${primary.port}`]
    const replicas = await Promise.all([startRedis({ args: follow }), startRedis({ args: follow })])
    const old = await connectIoredis(primary.url)
    const pid = Number(/^process_id:(\d+)/m.exec(await old.info('server'))?.[1])
    await old.set('caught-up', 'yes')
    expect(await old.wait(2, 15_000)).toBe(2)
    const sentinel = await startSentinel(primary)
    onTestFinished(async () => {
      await Promise.all([sentinel, primary, ...replicas].map((server) => server.stop()))
    })
    const watcher = await connectIoredis(sentinel.url)
    await expect.poll(() => watcher.info('sentinel')).toMatch(/\bslaves=2\b/)
    await watcher.subscribe('+switch-master')
    const rows = await Promise.all(
      ROWS.map(async ({ connect, ...row }, i) => {
        const { client, moved } = await connect(sentinel.port)
        const prefix = `row-${i}:`
        return { ...row, prefix, moved: moved(), store: redisStore(client, { prefix }) }
      }),
    )
    for (const { store } of rows) await record(store, 'before')
    // WAIT is for the writes of its own connection, and so for all that are before one.
    await old.set('the last', '')
    expect(await old.wait(2, 15_000)).toBe(2)

    const promotion = once(watcher, 'message')
    process.kill(pid, 'SIGSTOP')
    const [, , , , port] = String((await promotion)[1]).split(' ')
    const promoted = await connectIoredis(`redis://127.0.0.1:${port}`)
    // The Sentinel makes the old primary a replica only some ten seconds later.
    process.kill(pid, 'SIGCONT')
    await Promise.all(rows.map(({ moved }) => moved))
    for (const { name, store, prefix, writesTo } of rows) {
      await record(store, 'after')
      for (const [where, server] of [
        ['the old one', old],
        ['the promoted one', promoted],
      ] as const) {
        const kept = await server.get(`${prefix}after`)
        expect(kept, `${name}: ${where}`).toBe(where === writesTo ? 'completed 1 0 a' : null)
      }
      if (writesTo === 'the promoted one')
        expect(await store.claim(claimOf('before', 'b'))).toEqual({ status: 'completed' })
    }
  })
})

async function record(store: RemoteStore, key: string): Promise<void> {
  expect(await store.claim(claimOf(key, 'a'))).toEqual({ status: 'claimed', attempt: 1 })
  expect(await store.complete({ key, token: 'a' }, HOUR_MS)).toBe(true)
}
