import { StoreError } from 'tix-webhooks'
import { tixWebhooks } from 'tix-webhooks/fetch'
import { redisStore } from 'tix-webhooks/redis'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { orderCreated, sign } from '../../support/deliveries.js'
import { answerOf, requestOf } from '../../support/fetching.js'
import { onOwnRedis } from '../../support/on-servers.js'
import {
  claimOf,
  connectIoredis,
  HOUR_MS,
  LIBRARIES,
  METHODS,
  openStore,
} from '../../support/redis-clients.js'
import { type ReplicatedRedis, startReplicatedRedis } from '../../support/redis-replication.js'
import { SOON_HEADER } from '../../support/retry-after.js'
import { watched } from '../../support/watched.js'

onOwnRedis.each(LIBRARIES)('a replica of Redis, on $name', (library) => {
  let servers: ReplicatedRedis

  beforeAll(async () => {
    servers = await startReplicatedRedis()
  })
  afterAll(() => servers.stop())

  test('is refused as read-only, and the sender is asked to retry', async () => {
    const store = await openStore(library, servers.primary.url)
    await store.claim(claimOf('k', 'a'))
    await store.claim(claimOf('done', 'a'))
    await store.complete({ key: 'done', token: 'a' }, HOUR_MS)
    await servers.reconnect()

    const wrong = await openStore(library, servers.replica.url)
    for (const { call } of METHODS) {
      const error = await call(wrong, 'k', 'a').catch((cause: unknown) => cause)
      expect(error).toBeInstanceOf(StoreError)
      expect(error).toMatchObject({
        code: 'store_unavailable',
        message: expect.stringMatching(
          /^This Redis is a read-only replica: connect the client to the primary/,
        ),
      })
    }
    const { options, runs, reports } = watched({ store: wrong, namespace: 'shop' })
    const hooks = tixWebhooks(options)
    const answer = await answerOf(await hooks(requestOf(await sign(orderCreated()))))
    expect(answer).toMatchObject({ status: 503, headers: { 'retry-after': SOON_HEADER } })
    expect(runs).toEqual([])
    expect(reports).toEqual([expect.stringMatching(/read-only replica/)])
    await hooks.drain()

    expect(await wrong.claim(claimOf('k', 'b'))).toMatchObject({ status: 'in_flight' })
    expect(await wrong.claim(claimOf('done', 'b'))).toEqual({ status: 'completed' })
  })

  test('that was waited for knows what was completed, and what runs, when it is promoted', async () => {
    const store = await openStore(library, servers.primary.url, { replicas: 1, replicaTimeoutMs: 15_000 })
    await store.claim(claimOf('handled', 'a'))
    await store.complete({ key: 'handled', token: 'a' }, HOUR_MS)
    await store.claim(claimOf('running', 'a'))
    await servers.primary.kill()
    const admin = await connectIoredis(servers.replica.url)
    await admin.replicaof('NO', 'ONE')
    const promoted = redisStore(await library.connect(servers.replica.url))
    expect(await promoted.claim(claimOf('handled', 'b'))).toEqual({ status: 'completed' })
    expect(await promoted.claim(claimOf('running', 'b'))).toMatchObject({ status: 'in_flight' })
    expect(await promoted.complete({ key: 'running', token: 'a' }, HOUR_MS)).toBe(true)
  })
})
