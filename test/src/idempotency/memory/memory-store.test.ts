import { describe, expect, test } from 'vitest'
import {
  CLAIMED,
  COMPLETED,
  holder,
  inFlight,
  LEASE,
  outlook,
  RECLAIMED,
  RETAIN,
  type SetUp,
  setUp,
} from '../../../support/claimants.js'

describe('claim', () => {
  test('takes a key that is absent, as attempt 1', async () => {
    expect(await setUp().mine.claim()).toEqual(CLAIMED)
  })

  test('says how long the lease of another token lasts', async () => {
    const { mine, other, advance } = setUp()
    await mine.claim()
    expect(await other.claim()).toEqual(inFlight(LEASE))
    advance(LEASE - 1)
    expect(await other.claim()).toEqual(inFlight(1))
  })

  test('takes a key over as soon as its lease has run out, as the next attempt', async () => {
    const { mine, other, advance } = setUp()
    await mine.claim()
    advance(LEASE)
    expect(await other.claim()).toEqual(RECLAIMED)
  })

  test('takes a key that another token released at once, and counts on', async () => {
    const { mine, other, third } = setUp()
    await mine.claim()
    await mine.release()
    expect(await other.claim()).toEqual(RECLAIMED)
    await other.release()
    expect(await third.claim()).toEqual({ status: 'claimed', attempt: 3 })
    expect(await mine.claim()).toEqual(inFlight(LEASE))
  })

  test('sent again while it is running repeats the grant: same attempt, new lease', async () => {
    const { mine, other, advance } = setUp()
    await mine.claim()
    advance(10_000)
    expect(await mine.claim()).toEqual(CLAIMED)
    expect(await other.claim()).toEqual(inFlight(LEASE))
  })

  test('sent again when its lease has run out and nobody took over repeats the grant', async () => {
    const { mine, other, advance } = setUp()
    await mine.claim()
    advance(LEASE + 1)
    expect(await mine.claim()).toEqual(CLAIMED)
    expect(await other.claim()).toEqual(inFlight(LEASE))
  })

  test('that arrives after its own release says in_flight and changes nothing', async () => {
    async function release({ mine }: SetUp): Promise<void> {
      await mine.claim()
      await mine.release()
    }
    const set = setUp()
    await release(set)
    expect(await set.mine.claim()).toEqual(inFlight(1))

    const late = await outlook(async (set) => {
      await release(set)
      await set.mine.claim()
    })

    expect(late).toEqual(await outlook(release))
  })

  test('that arrives after a takeover takes nothing back', async () => {
    const { mine, other, advance } = setUp()
    await mine.claim()
    advance(LEASE)
    await other.claim()
    expect(await mine.claim()).toEqual(inFlight(LEASE))
    expect(await other.complete()).toBe(true)
  })

  test('of a completed key says completed to everybody, its own token too, and keeps it no longer', async () => {
    const { mine, other, advance } = setUp()
    await mine.claim()
    await mine.complete()
    advance(RETAIN - 1)
    expect(await mine.claim()).toEqual(COMPLETED)
    expect(await other.claim()).toEqual(COMPLETED)
    advance(1)
    expect(await other.claim()).toEqual(CLAIMED)
  })

  test.each(['running', 'released', 'completed'] as const)(
    'of a %s key past its retention begins again at attempt 1, for the same token too',
    async (state) => {
      for (const caller of ['mine', 'other'] as const) {
        const set = setUp()
        await set.mine.claim()
        await set.mine.release()
        await set.third.claim()
        if (state === 'released') await set.third.release()
        if (state === 'completed') await set.third.complete()
        set.advance(RETAIN)
        expect(await set[caller].claim()).toEqual(CLAIMED)
      }
    },
  )

  test('keeps a record from the last grant on', async () => {
    const { mine, other, third, advance } = setUp()
    await mine.claim()
    await mine.release()
    advance(RETAIN - 1)
    await other.claim()
    await other.release()
    advance(RETAIN - 1)
    expect(await third.claim()).toEqual({ status: 'claimed', attempt: 3 })
  })

  test('of 24 at once, one is granted', async () => {
    const { store } = setUp()
    const claimers = Array.from({ length: 24 }, (_, index) => holder(store, `token-${index}`))

    const results = await Promise.all(claimers.map((claimer) => claimer.claim()))

    expect(results.filter(({ status }) => status === 'claimed')).toEqual([CLAIMED])
    expect(results.filter(({ status }) => status === 'in_flight')).toHaveLength(23)
  })

  test('of 24 at once on a lease that has run out, one takes over', async () => {
    const { store, mine, advance } = setUp()
    await mine.claim()
    advance(LEASE)
    const claimers = Array.from({ length: 24 }, (_, index) => holder(store, `token-${index}`))

    const results = await Promise.all(claimers.map((claimer) => claimer.claim()))

    expect(results.filter(({ status }) => status === 'claimed')).toEqual([RECLAIMED])
  })
})

test('keys that only look alike are kept apart', async () => {
  const { store } = setUp()
  const keys = ['ns/a/1', 'ns/a/10', 'ns/A/1', 'ns/a/1 ', '__proto__', 'constructor', 'x'.repeat(255), '']

  for (const key of keys) expect(await holder(store, 'mine', key).claim()).toEqual(CLAIMED)
  for (const key of keys) expect(await holder(store, 'mine', key).complete()).toBe(true)
})

test('two stores share nothing', async () => {
  const [one, two] = [setUp(), setUp()]
  await one.mine.claim()
  expect(await two.mine.claim()).toEqual(CLAIMED)
})
