/** @module-tag slow */
import { describe, expect, test } from 'vitest'
import {
  CLAIMED,
  COMPLETED,
  inFlight,
  LEASE,
  outlook,
  RECLAIMED,
  RETAIN,
  type SetUp,
  setUp,
} from '../../../support/claimants.js'

type Call = 'renew' | 'complete' | 'release'

/** Every state of a key, which of the calls of `mine` are then granted, and how to reach it. */
const STATES: readonly [state: string, granted: readonly Call[], reach: (set: SetUp) => Promise<unknown>][] =
  [
    ['absent', ['complete'], async () => {}],
    ['running', ['renew', 'complete', 'release'], ({ mine }) => mine.claim()],
    [
      'running, its lease run out and nobody in its place',
      ['renew', 'complete', 'release'],
      ({ mine, advance }) => mine.claim().then(() => advance(LEASE + 1)),
    ],
    ['running with another token', [], ({ other }) => other.claim()],
    [
      'taken over',
      [],
      async ({ mine, other, advance }) => {
        await mine.claim()
        advance(LEASE)
        await other.claim()
      },
    ],
    ['completed', ['complete'], ({ mine }) => mine.claim().then(() => mine.complete())],
    ['completed with another token', [], ({ other }) => other.claim().then(() => other.complete())],
    ['released', ['release'], ({ mine }) => mine.claim().then(() => mine.release())],
    ['released with another token', [], ({ other }) => other.claim().then(() => other.release())],
    [
      'running, past its retention',
      ['complete'],
      ({ mine, advance }) => mine.claim().then(() => advance(RETAIN)),
    ],
    [
      'completed, past its retention',
      ['complete'],
      async ({ mine, advance }) => {
        await mine.claim()
        await mine.complete()
        advance(RETAIN)
      },
    ],
    [
      'released, past its retention',
      ['complete'],
      async ({ mine, advance }) => {
        await mine.claim()
        await mine.release()
        advance(RETAIN)
      },
    ],
  ]

const CALLS = STATES.flatMap(([state, granted, reach]) =>
  (['renew', 'complete', 'release'] as const).map((call) => ({
    state,
    reach,
    call,
    granted: granted.includes(call),
  })),
)

describe('renew, complete and release', () => {
  test.each(CALLS)('$call of a key that is $state answers $granted', async ({ reach, call, granted }) => {
    const set = setUp()
    await reach(set)

    expect(await set.mine[call]()).toBe(granted)
  })

  test.each(CALLS.filter(({ granted }) => !granted))(
    '$call of a key that is $state changes nothing',
    async ({ reach, call }) => {
      const untouched = await outlook(reach)

      const tried = await outlook(async (set) => {
        await reach(set)
        await set.mine[call]()
      })

      expect(tried).toEqual(untouched)
    },
  )

  test.each(['complete', 'release'] as const)('%s is safe to send again after a lost reply', async (call) => {
    async function once({ mine }: SetUp): Promise<void> {
      await mine.claim()
      await mine[call]()
    }

    const sentAgain = await outlook(async (set) => {
      await once(set)
      await set.mine[call]()
    })

    expect(sentAgain).toEqual(await outlook(once))
  })

  test('a renewal gives a new lease from now, and the attempt stays', async () => {
    const { mine, other, advance } = setUp()
    await mine.claim()
    advance(20_000)

    await mine.renew()
    advance(29_999)

    expect(await other.claim()).toEqual(inFlight(1))
    expect(await mine.claim()).toEqual(CLAIMED)
  })

  test('a renewal takes a lease that had run out and that nobody took over into force again', async () => {
    const { mine, other, advance } = setUp()
    await mine.claim()
    advance(LEASE * 3)

    await mine.renew(7_000)

    expect(await other.claim()).toEqual(inFlight(7_000))
  })

  test('retention starts at completion, not at the claim', async () => {
    const { mine, other, advance } = setUp()
    await mine.claim()
    advance(LEASE)
    await mine.complete()

    advance(RETAIN - 1)
    expect(await other.claim()).toEqual(COMPLETED)
    advance(1)
    expect(await other.claim()).toEqual(CLAIMED)
  })

  test('a completion that is sent again is kept from then on', async () => {
    const { mine, other, advance } = setUp()
    await mine.claim()
    await mine.complete()
    advance(RETAIN - 1)
    await mine.complete()

    advance(RETAIN - 1)
    expect(await other.claim()).toEqual(COMPLETED)
    advance(1)
    expect(await other.claim()).toEqual(CLAIMED)
  })

  test('the holder that was taken over cannot end the run of its successor', async () => {
    const { mine, other, third, advance } = setUp()
    await mine.claim()
    advance(LEASE)
    expect(await other.claim()).toEqual(RECLAIMED)

    expect(await mine.complete()).toBe(false)
    expect(await mine.release()).toBe(false)

    expect(await third.claim()).toEqual(inFlight(LEASE))
    expect(await other.complete()).toBe(true)
  })
})
