import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { Cluster, Redis } from 'ioredis'
import { createCluster } from 'redis'
import { redisStore } from 'tix-webhooks/redis'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { unavailable } from '../../../stores/redis/advice.js'
import { eventually } from '../../support/eventually.js'
import { freePort } from '../../support/free-port.js'
import { onOwnRedis } from '../../support/on-servers.js'
import { claimOf, HOUR_MS, type RedisClient } from '../../support/redis-clients.js'
import { type RedisServer, startRedis } from '../../support/redis-server.js'

const KEYS = Array.from({ length: 40 }, (_, i) => `orders/order.created/ord_${i}`)

onOwnRedis('a Redis store on a cluster of three', () => {
  let nodes: readonly { readonly server: RedisServer; readonly admin: Redis }[] = []

  beforeAll(async () => {
    const buses = await Promise.all([freePort(), freePort(), freePort()])
    const servers = await Promise.all(
      buses.map((bus) =>
        startRedis({
          args: ['--cluster-enabled', 'yes', '--cluster-port', `${bus}`, '--cluster-node-timeout', '30000'],
        }),
      ),
    )
    nodes = servers.map((server) => ({ server, admin: new Redis(server.url) }))
    const addresses = servers.map(({ port }, i) => `127.0.0.1:${port}@${buses[i]}`)
    await promisify(execFile)('redis-cli', ['--cluster', 'create', ...addresses, '--cluster-yes'])
    for (const { admin } of nodes) {
      const isFormed = async () => expect(await admin.cluster('INFO')).toMatch(/^cluster_state:ok/)
      await eventually(isFormed)
    }
  })
  afterAll(async () => {
    for (const { admin } of nodes) admin.disconnect()
    await Promise.all(nodes.map(({ server }) => server.stop()))
  })

  async function connectIoredisCluster(): Promise<RedisClient> {
    const client = new Cluster(
      nodes.map(({ server: { port } }) => ({ host: '127.0.0.1', port })),
      { lazyConnect: true },
    )
    onTestFinished(() => client.disconnect())
    await client.connect()
    return client
  }

  async function connectNodeRedisCluster(): Promise<RedisClient> {
    const client = createCluster({ rootNodes: nodes.map(({ server: { url } }) => ({ url })) })
    onTestFinished(() => client.destroy())
    await client.connect()
    return client
  }

  const setSlot = (admin: Redis | undefined, ...change: (string | number)[]) =>
    admin?.call('CLUSTER', 'SETSLOT', ...change)
  const idOf = async (admin: Redis | undefined) => String(await admin?.call('CLUSTER', 'MYID'))
  const slotOf = async (key: string) => Number(await nodes[0]?.admin.call('CLUSTER', 'KEYSLOT', key))

  /** The node that has a slot, and another one. */
  async function ownerOf(key: string) {
    const has = await Promise.all(
      nodes.map(({ admin }) =>
        admin.get(key).then(
          () => true,
          () => false,
        ),
      ),
    )
    const [owner, other] = [nodes[has.indexOf(true)], nodes[has.indexOf(false)]]
    if (owner === undefined || other === undefined) throw new Error('Not one of them has the slot')
    return { owner: owner.admin, other: other.admin, otherPort: other.server.port }
  }

  /** Moves the slot of a key, with all its records, from the node that has it to another. */
  async function moveSlot(key: string): Promise<number> {
    const slot = await slotOf(key)
    const { owner, other, otherPort } = await ownerOf(key)
    await setSlot(other, slot, 'IMPORTING', await idOf(owner))
    await setSlot(owner, slot, 'MIGRATING', await idOf(other))
    for (let moved = 0; ; moved++) {
      // One at a time: for as long as possible, the slot is on both.
      const keys = (await owner.call('CLUSTER', 'GETKEYSINSLOT', slot, 1)) as string[]
      if (keys.length === 0) {
        for (const admin of [other, owner]) await setSlot(admin, slot, 'NODE', await idOf(other))
        return moved
      }
      await owner.call('MIGRATE', '127.0.0.1', `${otherPort}`, '', 0, 5_000, 'KEYS', ...keys)
    }
  }

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
    const [moved] = await Promise.all([
      moveSlot(`${prefix}${keys[0]}`),
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
  ])('%s meets a failover if nodes disagree on a slot', async (_name, connect) => {
    const client = await connect()
    const [key = ''] = KEYS
    const slot = await slotOf(`tix-webhooks:${key}`)
    const { owner, other } = await ownerOf(`tix-webhooks:${key}`)
    // Each of the two sends the client to the other.
    await setSlot(owner, slot, 'NODE', await idOf(other))
    await expect(redisStore(client).claim(claimOf(key, 'a'))).rejects.toMatchObject({
      code: 'store_unavailable',
      message: 'Redis is starting, failing over or moving slots. Nothing is lost.',
      cause: { message: expect.stringMatching(/^Too many Cluster redirections/) },
    })
    await setSlot(owner, slot, 'NODE', await idOf(owner))
  })

  test('the error asks for a cluster client if the client is none', async () => {
    const store = redisStore(nodes[0]?.admin as Redis)
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
