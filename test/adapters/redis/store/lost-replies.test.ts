import type { RemoteStore } from 'tix-webhooks'
import { redisStore } from 'tix-webhooks/redis'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { onRedis, redisPrefix, redisUrl } from '../../../support/on-servers.js'
import {
  claimOf,
  HOUR_MS,
  ioredisLibrary,
  METHODS,
  nodeRedisLibrary,
  type RedisLibrary,
} from '../../../support/redis-clients.js'
import { startProxy, type TcpProxy } from '../../../support/tcp-proxy.js'

let tests = 0
let prefix: string

beforeEach(() => {
  prefix = redisPrefix(`lost-${++tests}`)
})

/** A store that talks through a proxy, knows all scripts, and has asked for the policy. */
async function behindProxy(library: RedisLibrary): Promise<{ store: RemoteStore; proxy: TcpProxy }> {
  const url = new URL(redisUrl())
  const proxy = await startProxy({ host: url.hostname, port: Number(url.port || 6379) })
  onTestFinished(() => proxy.close())
  url.host = `127.0.0.1:${proxy.port}`
  const store = redisStore(await library.connect(url.href), { prefix })
  for (const { call } of METHODS) await call(store, 'warm', 'a')
  return { store, proxy }
}

const isScript = (chunk: Buffer): boolean => /evalsha/i.test(chunk.toString('latin1'))

onRedis('a lost reply', () => {
  test('to a claim on ioredis, which sends it again by itself: still claimed, at the first attempt', async () => {
    const { store, proxy } = await behindProxy(ioredisLibrary)
    const lost = proxy.cutAfterRequest(isScript)
    const claim = store.claim(claimOf('k', 'a'))
    await lost
    expect(await claim).toEqual({ status: 'claimed', attempt: 1 })
    expect(proxy.connections).toBe(2)
  })

  test.each([
    ['renew', (store: RemoteStore) => store.renew({ key: 'k', token: 'a' }, HOUR_MS)],
    ['complete', (store: RemoteStore) => store.complete({ key: 'k', token: 'a' }, HOUR_MS)],
    ['release', (store: RemoteStore) => store.release({ key: 'k', token: 'a' })],
  ])('to %s on ioredis, which sends it again by itself: still true', async (_name, call) => {
    const { store, proxy } = await behindProxy(ioredisLibrary)
    await store.claim(claimOf('k', 'a'))
    const lost = proxy.cutAfterRequest(isScript)
    const answer = call(store)
    await lost
    expect(await answer).toBe(true)
  })

  test('to a claim on node-redis, which rejects: it is claimed when it is sent again', async () => {
    const { store, proxy } = await behindProxy(nodeRedisLibrary)
    const lost = proxy.cutAfterRequest(isScript)
    const claim = store.claim(claimOf('k', 'a'))
    await Promise.all([lost, expect(claim).rejects.toMatchObject({ code: 'store_unavailable' })])
    expect(await store.claim(claimOf('k', 'a'))).toEqual({ status: 'claimed', attempt: 1 })
  })

  test('to a completion on node-redis, which rejects: true when it is sent again', async () => {
    const { store, proxy } = await behindProxy(nodeRedisLibrary)
    await store.claim(claimOf('k', 'a'))
    const lost = proxy.cutAfterRequest(isScript)
    const completion = store.complete({ key: 'k', token: 'a' }, HOUR_MS)
    await Promise.all([lost, expect(completion).rejects.toMatchObject({ code: 'store_unavailable' })])
    expect(await store.complete({ key: 'k', token: 'a' }, HOUR_MS)).toBe(true)
  })
})
