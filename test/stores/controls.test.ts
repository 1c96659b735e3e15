import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { brokenBackend, type KeyValue } from '../support/broken-stores.js'
import { linearize } from '../support/linearizable.js'
import { onRedis, redisPrefix, redisUrl } from '../support/on-servers.js'
import { raceCases } from '../support/races.js'
import { randomHistories } from '../support/store-history.js'

/** A common substitute for a script: the commands one by one. */
function bareRedis(client: Redis): KeyValue {
  const prefix = redisPrefix('controls')
  return {
    get: async (key) => (await client.get(prefix + key)) ?? undefined,
    set: async (key, value) => void (await client.set(prefix + key, value)),
  }
}

onRedis('on a real Redis', () => {
  let client: Redis
  beforeAll(() => {
    client = new Redis(redisUrl())
  })
  afterAll(() => client.disconnect())

  test.each(['a claim that reads, then writes', 'a release without an owner check'] as const)(
    '%s is caught by the same checker that the stores pass',
    async (fault) => {
      const backend = brokenBackend(fault, bareRedis(client))
      const clients = [await backend.create(), await backend.create(), await backend.create()]
      const histories = await randomHistories(clients, backend, { count: 100, isLossy: false, seed: 11 })
      const caught = histories.filter(({ calls }) => !linearize(calls).isLinearizable)
      expect(caught.length).toBeGreaterThanOrEqual(3)
    },
  )

  test('the same commands in turn pass, so it is the fault that is caught', async () => {
    for (const [, run] of raceCases(brokenBackend('none', bareRedis(client)), { histories: 50 })) await run()
  })
})
