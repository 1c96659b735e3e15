import * as ioredisModule from 'ioredis'
import { Redis } from 'ioredis'
import { Pool } from 'pg'
import { createClient } from 'redis'
import { memoryStore } from 'tix-webhooks'
import { type RedisStoreOptions, redisStore } from 'tix-webhooks/redis'
import { expect, test } from 'vitest'
import { notRefusedInputs, notRefusedRequests } from '../../support/invalid-inputs.js'
import { onRedis, redisPrefix, redisUrl } from '../../support/on-servers.js'
import {
  claimOf,
  connectIoredis,
  connectNodeRedis,
  LIBRARIES,
  openStore,
  type RedisClient,
} from '../../support/redis-clients.js'

// Each is the real one, and neither connects before it is used.
const ioredis = new Redis({ lazyConnect: true })
const nodeRedis = createClient()

const NO_CLIENT =
  /ioredis \(new Redis\(url\)\), of node-redis \(await createClient\(.*@upstash\/redis \(Redis\.fromEnv/

test('redisStore refuses anything but a client that can answer, and names what it accepts', () => {
  const rows: [client: unknown, message: RegExp][] = [
    [undefined, NO_CLIENT],
    [null, NO_CLIENT],
    ['redis://localhost', NO_CLIENT],
    [6379, NO_CLIENT],
    [{}, NO_CLIENT],
    [new Pool({ max: 0 }), NO_CLIENT],
    [memoryStore(), NO_CLIENT],
    [Redis, NO_CLIENT],
    [ioredisModule, NO_CLIENT],
    [{ url: 'redis://localhost', eval: true, evalsha: true }, NO_CLIENT],
    [{ eval: async () => 1 }, NO_CLIENT],
    [Promise.resolve(nodeRedis), /not a promise without/],
  ]
  expect(notRefusedInputs((client: RedisClient) => redisStore(client), rows)).toEqual([])
})

const SUBSCRIBING: [
  name: string,
  (RESP: 2 | 3) => Promise<RedisClient>,
  (client: never) => Promise<unknown>,
][] = [
  [
    'ioredis',
    (protocol) => connectIoredis(redisUrl(), { protocol }),
    (client: Redis) => client.subscribe('news'),
  ],
  [
    'node-redis',
    (RESP) => connectNodeRedis(redisUrl(), { RESP }),
    (client: NodeRedis) => client.subscribe('news', () => {}),
  ],
]

onRedis.each(SUBSCRIBING)('a client of %s that subscribes', (name, connect, subscribe) => {
  test('is refused with RESP 2, before the store is made and after', async () => {
    const before = await connect(2)
    await subscribe(before as never)
    expect(() => redisStore(before)).toThrow(TypeError)
    expect(() => redisStore(before)).toThrow(
      /^client must not be one that subscribes or monitors: .* redisStore\(new Redis\(url\)\)/,
    )
    const after = await connect(2)
    const store = redisStore(after)
    await subscribe(after as never)
    await expect(store.claim(claimOf('k', 'a'))).rejects.toMatchObject({
      code: 'store_unavailable',
      message: expect.stringMatching(/^This Redis client subscribes or monitors: /),
    })
  })

  test('works with RESP 3', async () => {
    const client = await connect(3)
    await subscribe(client as never)
    const store = redisStore(client, { prefix: redisPrefix('subscribed') })
    expect(await store.claim(claimOf(name, 'a'))).toMatchObject({ status: 'claimed' })
  })
})

type NodeRedis = Awaited<ReturnType<typeof connectNodeRedis>>

test('redisStore refuses invalid options', () => {
  const rows: [options: unknown, message: RegExp][] = [
    [{ prefx: 'a' }, /prefx/],
    [{ ttl: 60 }, /ttl/],
    [null, /options/],
    [{ prefix: 5 }, /^prefix must be/],
    [{ prefix: 'my app:' }, /^prefix must be/],
    [{ prefix: 'app\n' }, /^prefix must be/],
    [{ prefix: 'größe:' }, /^prefix must be/],
    [{ prefix: 'p'.repeat(201) }, /at most 200 characters/],
    [{ prefix: null }, /^prefix must be/],
  ]
  expect(notRefusedInputs((options: RedisStoreOptions) => redisStore(ioredis, options), rows)).toEqual([])
})

onRedis.each(LIBRARIES)('a store on $name', (library) => {
  test('refuses requests that the contract does not allow, and writes nothing', async () => {
    const prefix = redisPrefix(`inputs-${library.name}`)
    const store = await openStore(library, redisUrl(), { prefix })
    expect(await notRefusedRequests(store)).toEqual([])
    expect(await (await connectIoredis(redisUrl())).keys(`${prefix}*`)).toEqual([])
  })
})
