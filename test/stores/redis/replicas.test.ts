import type { Redis } from 'ioredis'
import { createClientPool, createSentinel, RESP_TYPES } from 'redis'
import { tixWebhooks } from 'tix-webhooks/fetch'
import { redisStore } from 'tix-webhooks/redis'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { orderCreated, sign } from '../../support/deliveries.js'
import { requestOf } from '../../support/fetching.js'
import { onOwnRedis } from '../../support/on-servers.js'
import {
  callsOf,
  claimOf,
  connectIoredis,
  connectNodeRedis,
  HOUR_MS,
  LIBRARIES,
  METHODS,
  openStore,
} from '../../support/redis-clients.js'
import { type RedisServer, startRedis } from '../../support/redis-server.js'
import { expectUnavailable } from '../../support/rejections.js'
import { startProxy, type TcpProxy } from '../../support/tcp-proxy.js'
import { watched } from '../../support/watched.js'

let orders = 0

/** One replica, for which a write is waited patiently. */
const PATIENT = { replicas: 1, replicaTimeoutMs: 15_000 }
/** One replica, of which it is known that it does not answer. */
const HASTY = { replicas: 1, replicaTimeoutMs: 20 }

onOwnRedis('a store that waits for a replica', () => {
  let primary: RedisServer
  let replica: RedisServer
  /** From the replica to the primary. */
  let link: TcpProxy
  let admin: Redis

  beforeAll(async () => {
    primary = await startRedis({ args: ['--repl-diskless-sync-delay', '0'] })
    link = await startProxy({ port: primary.port })
    replica = await startRedis({ args: ['--replicaof', '127.0.0.1', `${link.port}`] })
  })
  afterAll(() => Promise.all([primary.stop(), replica.stop(), link.close()]))
  beforeEach(async () => {
    admin = await connectIoredis(primary.url)
    await admin.flushall()
    await reconnect()
  })

  /** Lets the replica catch up with all writes. One whose link was cut tries again once a second; one that was only silent goes on at once. */
  async function reconnect(): Promise<void> {
    await link.pass()
    await admin.set('caught-up', 'yes')
    expect(await admin.wait(1, 15_000)).toBe(1)
  }

  describe.each(LIBRARIES)('on $name', (library) => {
    const open = (options: typeof PATIENT) => openStore(library, primary.url, options)

    test('grants a claim and records a completion when the replica has it', async () => {
      const store = await open(PATIENT)
      const follower = await connectIoredis(replica.url)
      await admin.script('FLUSH')
      expect(await store.claim(claimOf('k', 'a'))).toEqual({ status: 'claimed', attempt: 1 })
      expect(await follower.get('tix-webhooks:k')).toMatch(/^running 1 \d+ a$/)
      expect(await store.complete({ key: 'k', token: 'a' }, HOUR_MS)).toBe(true)
      expect(await follower.get('tix-webhooks:k')).toBe('completed 1 0 a')
    })

    test.each([
      ['cut off', () => link.refuse()],
      ['silent', async () => link.hold()],
    ])('refuses a claim while the replica is %s, and lets go of it', async (_how, part) => {
      const store = await open(HASTY)
      await admin.script('FLUSH')
      await part()
      await expectUnavailable(
        store.claim(claimOf('k', 'a')),
        /^Fewer than 1 replicas had the write after 20 ms .*replicaTimeoutMs/,
      )
      expect(await admin.get('tix-webhooks:k')).toBe('released 1 0 a')
      const other = await openStore(library, primary.url)
      expect(await other.claim(claimOf('k', 'b'))).toEqual({ status: 'claimed', attempt: 2 })
    })

    test('refuses a completion while the replica is silent, and does without it what the primary alone must know', async () => {
      const [store, patient] = [await open(HASTY), await open(PATIENT)]
      for (const key of ['running', 'released', 'done']) await patient.claim(claimOf(key, 'a'))
      await patient.complete({ key: 'done', token: 'a' }, HOUR_MS)
      link.hold()
      const waits = await callsOf(admin, 'wait')
      expect(await store.renew({ key: 'running', token: 'a' }, HOUR_MS)).toBe(true)
      expect(await store.release({ key: 'released', token: 'a' })).toBe(true)
      expect(await callsOf(admin, 'wait')).toBe(waits)
      expect(await store.claim(claimOf('done', 'b'))).toEqual({ status: 'completed' })
      expect(await store.claim(claimOf('running', 'b'))).toMatchObject({ status: 'in_flight' })
      expect(await store.complete({ key: 'running', token: 'b' }, HOUR_MS)).toBe(false)
      await expectUnavailable(
        store.complete({ key: 'running', token: 'a' }, HOUR_MS),
        /Fewer than 1 replicas/,
      )
      await reconnect()
      expect(await patient.complete({ key: 'running', token: 'a' }, HOUR_MS)).toBe(true)
    })

    test('says why, to every delivery of a burst that fills its connection', async () => {
      const store = await open({ replicas: 1, replicaTimeoutMs: 100 })
      link.hold()
      const { options, runs, reports } = watched({ store, namespace: 'shop' })
      const hooks = tixWebhooks(options)
      const answers = await Promise.all(
        Array.from({ length: 40 }, async () => {
          const answer = await hooks(requestOf(await sign(orderCreated({ id: `ord_${++orders}` }))))
          return answer.status
        }),
      )
      expect(new Set(answers)).toEqual(new Set([503]))
      expect(runs).toEqual([])
      expect(reports).toHaveLength(40)
      expect(
        reports.filter((report) => !/^Fewer than 1 replicas had the write after 100 ms/.test(report)),
      ).toEqual([])
      expect(reports[0]).toMatch(/ \d+ calls of the store wait on its one connection\.$/)
      await reconnect()
      await hooks.drain()
    })

    test('waits once for all writes that are sent in one turn', async () => {
      const store = await open(PATIENT)
      const { options, runs, reports } = watched({ store, namespace: 'shop' })
      const hooks = tixWebhooks(options)
      const waits = await callsOf(admin, 'wait')
      const requests = await Promise.all(
        Array.from({ length: 40 }, async () =>
          requestOf(await sign(orderCreated({ id: `ord_${++orders}` }))),
        ),
      )
      const answers = await Promise.all(requests.map((request) => hooks(request)))
      expect(answers.map(({ status }) => status)).toEqual(Array(40).fill(200))
      expect([runs.length, reports]).toEqual([40, []])
      // Of 80 writes.
      expect((await callsOf(admin, 'wait')) - waits).toBeLessThan(20)
    })

    test('never has a release overtake its claim', async () => {
      const store = await open(PATIENT)
      await store.claim(claimOf('before', 'a'))
      link.hold()
      const claims = ['j', 'k'].map((key) => store.claim(claimOf(key, 'a')))
      const released = store.release({ key: 'k', token: 'a' })
      await reconnect()
      await Promise.all([...claims, released])
      expect(await admin.get('tix-webhooks:k')).toMatch(/^released /)
    })

    test('grants the claims beside one that fails', async () => {
      const store = await open(PATIENT)
      await admin.hset('tix-webhooks:bad', 'not', 'ours')
      const claims = ['j', 'bad', 'k', 'l'].map((key) => store.claim(claimOf(key, 'a')))
      const granted = { value: { status: 'claimed', attempt: 1 } }
      expect(await Promise.allSettled(claims)).toMatchObject([
        granted,
        { reason: { code: 'store_unavailable' } },
        granted,
        granted,
      ])
    })
  })

  test.each(LIBRARIES)(
    'on $name: asks for as many as it was told, for as long, and in one round trip with the write',
    async (library) => {
      const proxy = await startProxy({ port: primary.port })
      onTestFinished(() => proxy.close())
      const client = await library.connect(`redis://127.0.0.1:${proxy.port}`)
      const store = redisStore(client, PATIENT)
      for (const { call } of METHODS) await call(store, 'warm', 'a')
      for (const { name, call, answer } of METHODS) {
        if (name !== 'claim') await store.claim(claimOf(name, 'a'))
        const before = proxy.roundTrips
        expect(await call(store, name, 'a')).toEqual(answer)
        expect(proxy.roundTrips - before).toBe(1)
      }
      let said = ''
      void proxy.nextRequest((chunk) => {
        said += chunk.toString('latin1')
        return false
      })
      const claim = redisStore(client, { replicas: 2, replicaTimeoutMs: 25 }).claim(claimOf('k', 'a'))
      await expect(claim).rejects.toThrow(/^Fewer than 2 replicas had the write after 25 ms/)
      expect(said).toMatch(/\bwait\r\n\$1\r\n2\r\n\$2\r\n25\r\n/i)
    },
  )

  test('counts the writes of clients that map types, or gather their commands', async () => {
    const mapped = (await connectNodeRedis(primary.url)).withTypeMapping({ [RESP_TYPES.NUMBER]: String })
    const gathering = await connectIoredis(primary.url, { enableAutoPipelining: true })
    for (const client of [mapped, gathering]) {
      const name = client === mapped ? 'mapped' : 'gathering'
      expect(await redisStore(client, PATIENT).claim(claimOf(name, 'a'))).toMatchObject({ status: 'claimed' })
    }
    link.hold()
    await expect(redisStore(gathering, HASTY).claim(claimOf('m', 'a'))).rejects.toThrow(
      /Fewer than 1 replicas/,
    )
  })
})

test.each([
  ['a pool of node-redis', () => createClientPool()],
  [
    'a Sentinel client of node-redis',
    () => createSentinel({ name: 'main', sentinelRootNodes: [{ host: '127.0.0.1', port: 1 }] }),
  ],
  ['a client without WAIT', () => ({ eval: async () => null, evalsha: async () => null })],
])('%s cannot wait for replicas, and the error says why', (_name, make) => {
  expect(() => redisStore(make())).not.toThrow()
  expect(() => redisStore(make(), { replicas: 1 })).toThrow(TypeError)
  expect(() => redisStore(make(), { replicas: 1 })).toThrow(/WAIT does not cover.*Leave replicas out/)
})
