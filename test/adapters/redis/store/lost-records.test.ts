import type { Redis } from 'ioredis'
import { tixWebhooks } from 'tix-webhooks/fetch'
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { orderCreated, sign } from '../../../support/deliveries.js'
import { answerOf, requestOf } from '../../../support/fetching.js'
import { onOwnRedis } from '../../../support/on-servers.js'
import { connectIoredis, LIBRARIES, openStore } from '../../../support/redis-clients.js'
import { type RedisServer, startRedis } from '../../../support/redis-server.js'
import { watched } from '../../../support/watched.js'

onOwnRedis.each(LIBRARIES)('a Redis that loses a record while its handler runs, on $name', (library) => {
  let server: RedisServer
  let admin: Redis

  beforeAll(async () => {
    server = await startRedis()
  })
  afterAll(() => server.stop())
  beforeEach(async () => {
    admin = await connectIoredis(server.url)
    await admin.flushall()
  })

  test.each([
    ['a flush', () => admin.flushall()],
    ['a restart without a log', () => server.restart()],
  ])('by %s: the completion is recorded, and the next delivery is a duplicate', async (_, lose) => {
    let runs = 0
    const { options, reports } = watched({
      store: await openStore(library, server.url),
      namespace: 'shop',
      on: {
        'order.created': async () => {
          runs += 1
          await lose()
        },
      },
    })
    const hooks = tixWebhooks(options)
    const order = await sign(orderCreated())
    expect(await answerOf(await hooks(requestOf(order)))).toMatchObject({ status: 200 })
    await hooks.drain()

    const others = tixWebhooks({ ...options, store: await openStore(library, server.url) })
    const answer = await answerOf(await others(requestOf(order)))
    expect(answer).toMatchObject({ status: 200, text: '{"outcome":"duplicate"}' })
    expect(runs).toBe(1)
    expect(reports).toEqual([])
  })

  test('says so when the lease is next renewed, and accuses no other delivery', async () => {
    const { options, reports } = watched({
      store: await openStore(library, server.url),
      namespace: 'shop',
      leaseSeconds: 9,
      on: {
        'order.created': async (_, { signal }) => {
          await admin.flushall()
          await vi.waitFor(() => expect(signal.aborted).toBe(true), { timeout: 15_000 })
        },
      },
    })
    await tixWebhooks(options)(requestOf(await sign(orderCreated())))
    expect(reports).toEqual([
      expect.stringMatching(/lost its record before the lease had run out: it was evicted, or .*failed over/),
    ])
  })
})
