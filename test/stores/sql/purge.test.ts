import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createPurger, type Purged } from '../../../stores/sql/purge.js'
import { notRefusedLimits } from '../../support/invalid-inputs.js'
import { deferred, turns } from '../../support/promises.js'

let seconds = 0

beforeEach(() => {
  seconds = 1_000
  vi.spyOn(performance, 'now').mockImplementation(() => seconds * 1000)
  vi.spyOn(console, 'warn').mockImplementation(() => {})
})
afterEach(() => void vi.restoreAllMocks())

const DEFAULT_LIMIT = 1_000
const HOUR_MS = 3_600_000
const DOWN = new Error('connect ECONNREFUSED')
const warnings = () => vi.mocked(console.warn).mock.calls.map(([text]) => text)

/** Purges that delete these numbers in order, then 0. */
function purging(...gone: (number | Error | Promise<Purged>)[]) {
  return vi.fn(async (_limit: number, _minAgeMs: number): Promise<Purged> => {
    const next = gone.shift() ?? 0
    if (next instanceof Error) throw next
    return typeof next === 'number' ? { deleted: next, parked: 0 } : next
  })
}

/** Whether a purge began after each delivery, the given seconds after the one before it. */
async function begun(
  { purgeAfter }: ReturnType<typeof createPurger>,
  purge: ReturnType<typeof purging>,
  after: readonly number[],
): Promise<boolean[]> {
  const answers: boolean[] = []
  for (const pause of after) {
    seconds += pause
    const before = purge.mock.calls.length
    await purgeAfter(HOUR_MS, async () => expect(purge.mock.calls.length).toBe(before))
    answers.push(purge.mock.calls.length > before)
    await turns(1)
  }
  return answers
}

test.each<[what: string, every: number | false | undefined, after: number[], expected: boolean[]]>([
  [
    'at the interval if that is short',
    30,
    [29.9, 0.1, 29.9, 0.1, 20, 600, 1],
    [false, true, false, true, false, true, false],
  ],
  [
    'after a minute, and then every 300 seconds by default',
    undefined,
    [59, 1, 299, 1],
    [false, true, false, true],
  ],
  ['never if it is turned off', false, [0, 1e6], [false, false]],
])('a background purge begins %s', async (_, every, after, expected) => {
  const purge = purging()
  expect(await begun(createPurger(purge, every), purge, after)).toEqual(expected)
})

test('no background purge begins after a delivery that has failed, which the database may be down for', async () => {
  const purge = purging()
  const { purgeAfter } = createPurger(purge)
  await expect(purgeAfter(HOUR_MS, () => Promise.reject(DOWN))).rejects.toBe(DOWN)
  expect(purge).not.toHaveBeenCalled()
})

test('a background purge deletes a batch of the default size, and goes on with the next call until one is not full', async () => {
  const purge = purging(DEFAULT_LIMIT, DEFAULT_LIMIT, 999, 5)
  const expected = [true, true, true, false, true]
  expect(await begun(createPurger(purge, 60), purge, [60, 0, 0, 0, 60])).toEqual(expected)
  expect(purge.mock.calls).toEqual(Array(4).fill([DEFAULT_LIMIT, HOUR_MS]))
})

test('a background purge spares those that are younger than the shortest retention of a call', async () => {
  const purge = purging()
  const { purgeAfter } = createPurger(purge, 60)
  for (const retainMs of [2 * HOUR_MS, HOUR_MS + 0.5, 3 * HOUR_MS]) {
    seconds += 60
    await purgeAfter(retainMs, async () => {})
  }
  expect(purge.mock.calls.map(([, minAgeMs]) => minAgeMs)).toEqual([2 * HOUR_MS, HOUR_MS, HOUR_MS])
})

test('a background purge that takes long is alone within its interval, and goes on after it if it was full', async () => {
  const slow = deferred<Purged>()
  const purge = purging(slow.promise)
  const purger = createPurger(purge, 60)
  expect(await begun(purger, purge, [60, 59])).toEqual([true, false])
  slow.resolve({ deleted: DEFAULT_LIMIT, parked: 0 })
  await turns(2)
  expect(await begun(purger, purge, [0, 0])).toEqual([true, false])
})

test('a background purge warns once when it fails, goes on, and warns again of the next outage', async () => {
  const purge = purging(DOWN, DOWN, DOWN, 3, DOWN, DOWN)
  const purger = createPurger(purge, 60)
  const found: number[] = []
  for (let i = 0; i < 6; i++) {
    expect(await begun(purger, purge, [60])).toEqual([true])
    found.push(warnings().length)
  }
  expect(found).toEqual([1, 1, 1, 1, 2, 2])
  const text = 'tix-webhooks: events past their retention could not be purged: connect ECONNREFUSED'
  expect(warnings()).toEqual([text, text])
})

test('a purge reports the parked events among those that it deletes', async () => {
  const some = Promise.resolve({ deleted: 5, parked: 2 })
  const purger = createPurger(purging(some, some, 1))
  seconds += 60
  await purger.purgeAfter(HOUR_MS, async () => {})
  await turns(1)
  expect([await purger.purge(), await purger.purge()]).toEqual([5, 1])
  const text = 'tix-webhooks: parked events, which were answered 200, were deleted past their retention: 2.'
  expect(warnings()).toEqual([text, text])
})

test.each([
  [0, '0'],
  [2_147_484, '2147484'],
  [Number.NaN, 'NaN'],
  ['60', '"60"'],
  [true, 'a boolean'],
])('purgeEverySeconds cannot be %j', (given, shown) => {
  expect(() => createPurger(purging(), given as number)).toThrow(
    new TypeError(`purgeEverySeconds must be a number of seconds above 0 and at most 2147483, not ${shown}.`),
  )
})

test('the limit of a purge is 1,000 by default, and it spares none for its age', async () => {
  const purge = purging()
  const purger = createPurger(purge)
  const limits = [undefined, {}, { limit: undefined }, { limit: Number.MAX_SAFE_INTEGER }]
  for (const options of limits) await purger.purge(options as object)
  const most = [DEFAULT_LIMIT, DEFAULT_LIMIT, DEFAULT_LIMIT, Number.MAX_SAFE_INTEGER]
  expect(purge.mock.calls).toEqual(most.map((limit) => [limit, 0]))
  expect(await notRefusedLimits(purger)).toEqual([])
})
