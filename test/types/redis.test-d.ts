import type { Redis as Upstash } from '@upstash/redis'
import type { Redis as UpstashOnCloudflare } from '@upstash/redis/cloudflare'
import type { Cluster, Redis } from 'ioredis'
import type { createClient, createClientPool, createCluster, createSentinel } from 'redis'
import type { RemoteStore } from 'tix-webhooks'
import { redisStore } from 'tix-webhooks/redis'
import { describe, expectTypeOf, test } from 'vitest'

declare const ioredis: Redis
declare const cluster: Cluster
declare const nodeRedis: ReturnType<typeof createClient>
declare const pool: ReturnType<typeof createClientPool>
declare const nodeCluster: ReturnType<typeof createCluster>
declare const sentinel: ReturnType<typeof createSentinel>
declare const upstash: Upstash
declare const upstashOnCloudflare: UpstashOnCloudflare

describe('redisStore', () => {
  test('takes every client that it works with', () => {
    expectTypeOf(redisStore(ioredis)).toEqualTypeOf<RemoteStore>()
    expectTypeOf(redisStore(cluster)).toEqualTypeOf<RemoteStore>()
    expectTypeOf(redisStore(nodeRedis)).toEqualTypeOf<RemoteStore>()
    expectTypeOf(redisStore(pool)).toEqualTypeOf<RemoteStore>()
    expectTypeOf(redisStore(nodeCluster)).toEqualTypeOf<RemoteStore>()
    expectTypeOf(redisStore(sentinel)).toEqualTypeOf<RemoteStore>()
    expectTypeOf(redisStore(upstash)).toEqualTypeOf<RemoteStore>()
    expectTypeOf(redisStore(upstashOnCloudflare)).toEqualTypeOf<RemoteStore>()
  })

  test('takes nothing else', () => {
    // @ts-expect-error: sends nothing before exec()
    redisStore(ioredis.pipeline())
    // @ts-expect-error: sends nothing before exec()
    redisStore(nodeRedis.multi())
    // @ts-expect-error: sends nothing before exec()
    redisStore(upstash.pipeline())
    // @ts-expect-error: sends nothing before exec()
    redisStore(upstash.multi())
    // @ts-expect-error: its calls return no promise
    redisStore(nodeRedis.legacy())
    // @ts-expect-error: must be awaited
    redisStore(nodeRedis.connect())
    // @ts-expect-error: not a client
    redisStore('redis://localhost')
  })
})
