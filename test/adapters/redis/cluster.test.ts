import { Cluster, Redis } from 'ioredis'
import { createCluster } from 'redis'
import { redisStore } from 'tix-webhooks/redis'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { unavailable } from '../../../adapters/redis/advice.js'
import { onOwnRedis } from '../../support/on-servers.js'
import { claimOf, HOUR_MS, type RedisClient } from '../../support/redis-clients.js'
import { type RedisCluster, startRedisCluster } from '../../support/redis-cluster.js'
import { moveSlot } from '../../support/redis-resharding.js'

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

  test('while a slot with its records moves to another node, each event is granted once and stays completed', async () => {
    const prefix = 'moving:'
    const stores = await Promise.all([
      connectIoredisCluster().then((client) => redisStore(client, { prefix })),
      connectNodeRedisCluster().then((client) => redisStore(client, { prefix })),
    ])
    // The braces put all of them into one slot.
    const keys = Array.from({ length: 300 }, (_, i) => `orders/order.created/{moving}_${i}`)
    const granted: string[] = []
    let refusals = 0

    /** Retries as the service does, if the store is unavailable. */
    async function deliver(key: string, token: string, store: (typeof stores)[number]): Promise<void> {
      for (;;) {
        try {
          const { status } = await store.claim(claimOf(key, token))
          if (status !== 'claimed') return
          granted.push(key)
          expect(await store.complete({ key, token }, HOUR_MS)).toBe(true)
          return
        } catch (error) {
          expect(error).toMatchObject({ code: 'store_unavailable' })
          refusals += 1
        }
      }
    }

    const [early, late] = [keys.slice(0, 150), keys.slice(150)]
    for (const key of early) await deliver(key, 'a', stores[0] as (typeof stores)[number])
    const [{ moved }] = await Promise.all([
      moveSlot(cluster.nodes, `${prefix}${keys[0]}`),
      ...stores.map(async (store, index) => {
        for (const key of [...late, ...early]) await deliver(key, `b${index}`, store)
      }),
    ])
    expect(moved).toBeGreaterThanOrEqual(early.length)
    expect(granted.sort()).toEqual([...keys].sort())
    for (const store of stores) {
      const claims = await Promise.all(keys.map((key) => store.claim(claimOf(key, 'c'))))
      expect(new Set(claims.map(({ status }) => status))).toEqual(new Set(['completed']))
    }
    expect(refusals).toBeLessThan(keys.length)
  })

  test.each([
    ['Cluster of ioredis', connectIoredisCluster],
    ['createCluster of node-redis', connectNodeRedisCluster],
  ])('%s cannot wait for replicas, and the error says why', async (_name, connect) => {
    const client = await connect()
    expect(() => redisStore(client, { replicas: 1 })).toThrow(TypeError)
    expect(() => redisStore(client, { replicas: 1 })).toThrow(/WAIT does not cover .* cluster.*single client/)
  })

  test.each([
    ['Cluster of ioredis', connectIoredisCluster],
    ['createCluster of node-redis', connectNodeRedisCluster],
  ])(
    '%s gets an error about a failover while nodes disagree on a slot, not about the client',
    async (_name, connect) => {
      const [key = ''] = KEYS
      const nodes = cluster.nodes.map(({ url }) => new Redis(url))
      onTestFinished(() => {
        for (const node of nodes) node.disconnect()
      })
      const slot = Number(await nodes[0]?.call('CLUSTER', 'KEYSLOT', `tix-webhooks:${key}`))
      const isOwner = await Promise.all(
        nodes.map((node) =>
          node.get(`tix-webhooks:${key}`).then(
            () => true,
            () => false,
          ),
        ),
      )
      const owner = nodes[isOwner.indexOf(true)]
      const other = nodes[isOwner.indexOf(false)]
      // Each of the two sends the client to the other.
      await owner?.call('CLUSTER', 'SETSLOT', slot, 'NODE', String(await other?.call('CLUSTER', 'MYID')))
      const claim = redisStore(await connect()).claim(claimOf(key, 'a'))
      await expect(claim).rejects.toMatchObject({
        code: 'store_unavailable',
        message: 'Redis is starting, failing over or moving slots. Nothing is lost: the sender retries.',
        cause: { message: expect.stringMatching(/^Too many Cluster redirections/) },
      })
      await owner?.call('CLUSTER', 'SETSLOT', slot, 'NODE', String(await owner.call('CLUSTER', 'MYID')))
    },
  )

  test('the error asks for a cluster client if the client is none', async () => {
    const node = new Redis(cluster.nodes[0]?.url ?? '')
    onTestFinished(() => node.disconnect())
    const store = redisStore(node)
    const claims = await Promise.allSettled(KEYS.map((key) => store.claim(claimOf(key, 'z'))))
    const messages = claims.flatMap((claim) => (claim.status === 'rejected' ? [claim.reason.message] : []))
    expect(new Set(messages)).toEqual(new Set(['This Redis is a cluster: pass a cluster client.']))
  })
})

test.each([
  ['ioredis', new Cluster([{ port: 1 }], { lazyConnect: true })],
  ['node-redis', createCluster({ rootNodes: [{ url: 'redis://127.0.0.1:1' }] })],
])('what older versions of %s pass on is understood as well', (_name, client) => {
  expect(unavailable(new Error('MOVED 7602 127.0.0.1:7001'), client)).toMatchObject({
    message: expect.stringMatching(/failing over or moving slots/),
  })
})
