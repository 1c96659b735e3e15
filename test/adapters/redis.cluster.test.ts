import { Cluster, Redis } from 'ioredis'
import { createCluster } from 'redis'
import { redisStore } from 'tix-webhooks/redis'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { onOwnRedis } from '../support/on-servers.js'
import { claimOf, HOUR_MS, type RedisClient } from '../support/redis-clients.js'
import { type RedisCluster, startRedisCluster } from '../support/redis-cluster.js'

const KEYS = Array.from({ length: 40 }, (_, i) => `orders/order.created/ord_${i}`)

onOwnRedis('a Redis store on a cluster of three', () => {
  let cluster: RedisCluster

  beforeAll(async () => {
    cluster = await startRedisCluster(3)
  }, 60_000)
  afterAll(() => cluster.stop())

  async function connectIoredisCluster(): Promise<RedisClient> {
    const client = new Cluster(
      cluster.nodes.map(({ port }) => ({ host: '127.0.0.1', port })),
      { lazyConnect: true },
    )
    onTestFinished(() => client.disconnect())
    await client.connect()
    return client
  }

  async function connectNodeRedisCluster(): Promise<RedisClient> {
    const client = createCluster({ rootNodes: cluster.nodes.map(({ url }) => ({ url })) })
    onTestFinished(() => client.destroy())
    await client.connect()
    return client
  }

  /** How many records each node has. */
  async function recordsOf(prefix: string): Promise<number[]> {
    return Promise.all(
      cluster.nodes.map(async ({ url }) => {
        const client = new Redis(url)
        const keys = await client.keys(`${prefix}*`)
        client.disconnect()
        return keys.length
      }),
    )
  }

  test.each([
    ['Cluster of ioredis', connectIoredisCluster],
    ['createCluster of node-redis', connectNodeRedisCluster],
  ])('through %s: every method works on the keys of every node', async (name, connect) => {
    const prefix = `${name.split(' ').at(-1)}:`
    const store = redisStore(await connect(), { prefix })
    for (const key of KEYS) {
      expect(await store.claim(claimOf(key, 'a'))).toEqual({ status: 'claimed', attempt: 1 })
      expect(await store.claim(claimOf(key, 'b'))).toMatchObject({ status: 'in-flight' })
      expect(await store.renew({ key, token: 'a' }, HOUR_MS)).toBe(true)
      expect(await store.release({ key, token: 'a' })).toBe(true)
      expect(await store.claim(claimOf(key, 'b'))).toEqual({ status: 'claimed', attempt: 2 })
      expect(await store.complete({ key, token: 'b' }, HOUR_MS)).toBe(true)
      expect(await store.claim(claimOf(key, 'c'))).toEqual({ status: 'completed' })
    }
    const records = await recordsOf(prefix)
    expect(records.every((count) => count > 0)).toBe(true)
    expect(records.reduce((sum, count) => sum + count)).toBe(KEYS.length)
  })

  test('both see what the other has recorded, and a flush of all scripts changes nothing', async () => {
    const options = { prefix: 'shared:' }
    const one = redisStore(await connectIoredisCluster(), options)
    const two = redisStore(await connectNodeRedisCluster(), options)
    await Promise.all(KEYS.map((key) => one.claim(claimOf(key, 'a'))))
    await Promise.all(
      cluster.nodes.map(async ({ url }) => {
        const client = new Redis(url)
        await client.script('FLUSH')
        client.disconnect()
      }),
    )
    const answers = await Promise.all(KEYS.map((key) => two.complete({ key, token: 'a' }, HOUR_MS)))
    expect(new Set(answers)).toEqual(new Set([true]))
    const claims = await Promise.all(KEYS.map((key) => one.claim(claimOf(key, 'b'))))
    expect(new Set(claims.map(({ status }) => status))).toEqual(new Set(['completed']))
  })

  test.each([
    ['Cluster of ioredis', connectIoredisCluster],
    ['createCluster of node-redis', connectNodeRedisCluster],
  ])('%s cannot wait for replicas, and is told why', async (_name, connect) => {
    const client = await connect()
    expect(() => redisStore(client, { replicas: 1 })).toThrow(TypeError)
    expect(() => redisStore(client, { replicas: 1 })).toThrow(/WAIT says nothing .* cluster.*single client/)
  })
})
