import { afterAll, beforeAll, describe, test, vi } from 'vitest'
import { STORE_FAULTS } from '../support/fault-cases.js'
import { withFixture } from '../support/fault-fixture.js'
import { onRedis, redisPrefix, redisUrl } from '../support/on-servers.js'
import { type Place, redisPlace } from '../support/proof-places.js'
import { REDIS, type RedisClientName } from '../support/proof-redis.js'

// A loaded machine is many times slower than an idle one.
vi.setConfig({ testTimeout: 90_000, hookTimeout: 90_000 })

onRedis('a receiver on Redis survives', () => {
  let place: Place
  beforeAll(async () => {
    place = await redisPlace(redisUrl(), redisPrefix('faults'))
  })
  afterAll(() => place.close())

  describe.concurrent.each(Object.keys(REDIS) as RedisClientName[])('with %s', (client) => {
    test.each(STORE_FAULTS)('%s', (_name, play) => withFixture({ place, open: REDIS[client] }, play))
  })
})
