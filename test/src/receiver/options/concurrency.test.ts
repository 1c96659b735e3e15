import { expect, test, vi } from 'vitest'
import { orderCreated, SECRET } from '../../../support/deliveries.js'
import { deferred, turns } from '../../../support/promises.js'
import { receiving } from '../../../support/receiving.js'

/** All deliveries are of one account. */
const ONE = { account: () => ({ id: 'acme', secret: SECRET }), secret: undefined }

/** Receivers with these options, all in one process: the most handlers that run at once of nine deliveries to each, held until there are so many. */
async function runsAtOnce(expected: number, ...receivers: object[]): Promise<number> {
  const gate = deferred()
  let running = 0
  let most = 0
  const handler = async () => {
    running += 1
    most = Math.max(most, running)
    await gate.promise
    running -= 1
  }
  const sent = receivers.flatMap((options) => {
    const { send } = receiving({ on: { 'order.created': handler }, ...options })
    return Array.from({ length: 9 }, () => send(orderCreated()))
  })
  await expect.poll(() => running, { interval: 1 }).toBeGreaterThanOrEqual(expected)
  await turns(9)
  gate.resolve()
  for (const { outcome } of await Promise.all(sent)) expect(outcome).toBe('handled')
  return most
}

/** An inbox on a pool, as far as a receiver knows. */
function inboxOn(connections: unknown, extra: object = {}) {
  const once = async (_: unknown, work: (tx: unknown) => Promise<void>) => {
    await work(undefined)
    return { status: 'handled' }
  }
  return { namespace: 'test', inbox: { once, connections }, ...extra }
}

test.each<[string, number, () => object[]]>([
  ['there is no limit by default', 9, () => [{}]],
  ['a number is the limit of a receiver', 4, () => [{ concurrency: 4 }]],
  ['perAccount is the limit of each account', 2, () => [{ concurrency: { runs: 4, perAccount: 2 }, ...ONE }]],
  ['an account has half of the runs by default, rounded up', 3, () => [{ concurrency: 5, ...ONE }]],
  ['and of those of an object', 2, () => [{ concurrency: { runs: 4 }, ...ONE }]],
  ['and at least one', 1, () => [{ concurrency: 1, ...ONE }]],
  ['perAccount wins', 4, () => [{ concurrency: { runs: 4, perAccount: Number.POSITIVE_INFINITY }, ...ONE }]],
  [
    "of a pool's too, in all receivers of it together, and those without an account have the rest",
    4,
    () => {
      const pool = { max: 5 }
      const [first, second] = ['first', 'second'].map((namespace) => inboxOn(pool, { namespace, ...ONE }))
      return [first ?? {}, second ?? {}, inboxOn(pool)]
    },
  ],
  [
    'without those it is half of the pool',
    2,
    () => {
      const pool = { max: 5 }
      return [inboxOn(pool, ONE), inboxOn(pool, { namespace: 'second', ...ONE })]
    },
  ],
  ['an inbox leaves one connection of its pool to the app', 2, () => [inboxOn({ max: 3 })]],
  ['an inbox on a pool of one has one run', 1, () => [inboxOn({ max: 1 })]],
  ['an inbox whose pool is not known has no limit', 9, () => [inboxOn(undefined)]],
  ['concurrency wins over the pool', 4, () => [inboxOn({ max: 3 }, { concurrency: 4 })]],
  [
    'receivers on one pool share its connections, also with inboxes of their own',
    3,
    () => {
      const pool = { max: 4 }
      const first = inboxOn(pool)
      return [first, first, inboxOn(pool)]
    },
  ],
  ['pools of their own do not', 6, () => [inboxOn({ max: 4 }), inboxOn({ max: 4 })]],
  [
    'an inbox that is a function of the request has no limit',
    9,
    () => [{ ...inboxOn(undefined), inbox: () => inboxOn({ max: 3 }).inbox }],
  ],
])('%s: %i of the runs at once', async (_, expected, receivers) => {
  expect(await runsAtOnce(expected, ...receivers())).toBe(expected)
})

test('copies of the package share the connections of a pool', async () => {
  const pool = {}
  const placesIn = async () => {
    vi.resetModules()
    const { sharedConnections } = await import('../../../../stores/sql/shared-connections.js')
    const { slotsOf } = await import('../../../../src/receiver/options/concurrency.js')
    return slotsOf({ inbox: { connections: sharedConnections(pool, 10) } })
  }
  const first = await placesIn()
  expect(first?.limits.runs).toBe(9)
  expect(await placesIn()).toBe(first)
})
