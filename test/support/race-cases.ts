import { expect } from 'vitest'
import type { StoreAnswer, StoreCall } from '../../testing/store-cases/transition.js'
import { callsOf, LEASE, PAST_LEASE, PAST_RETENTION } from './store-history.js'

const RIVALS = 24

/** The operations of a race on its key. All calls are recorded, and must be linearizable in the end. */
export interface Track {
  /** Makes calls one after another; returns the last answer. */
  call(...calls: StoreCall[]): Promise<StoreAnswer | undefined>
  /** All concurrently, spread over the clients. */
  together(calls: readonly StoreCall[]): Promise<(StoreAnswer | undefined)[]>
  advance(ms: number): Promise<void>
}

const mine = callsOf('mine')
const other = callsOf('other')
const third = callsOf('third')
const rivals = Array.from({ length: RIVALS }, (_, index) => callsOf(`rival ${index}`))
const rivalClaims = rivals.map(({ claim }) => claim)

function times<const T extends readonly unknown[]>(count: number, ...items: T): T[number][] {
  return Array.from({ length: count }, () => items).flat()
}

/** Puts one call among the others: which one is sent first, and which one last, differs each time. */
function amidst(calls: readonly StoreCall[], call: StoreCall): StoreCall[] {
  const at = Math.floor(Math.random() * (calls.length + 1))
  return [...calls.slice(0, at), call, ...calls.slice(at)]
}

function grantsIn(answers: readonly (StoreAnswer | undefined)[]): (StoreAnswer | undefined)[] {
  return answers.filter((answer) => statusOf(answer) === 'claimed')
}

function statusOf(answer: StoreAnswer | undefined): string | boolean | undefined {
  return typeof answer === 'object' ? answer.status : answer
}

/** Exactly one answer is the grant, all others contain the rest of its lease; and the record is the winner's. */
async function expectOneGrant(
  { call }: Track,
  answers: readonly (StoreAnswer | undefined)[],
  attempt: number,
): Promise<void> {
  const winner = answers.findIndex((answer) => statusOf(answer) === 'claimed')
  expect(grantsIn(answers)).toEqual([{ status: 'claimed', attempt }])
  for (const [index, answer] of answers.entries()) if (index !== winner) expectInFlight(answer)
  for (const [index, { renew }] of rivals.entries()) expect(await call(renew)).toBe(index === winner)
}

function expectInFlight(answer: StoreAnswer | undefined): void {
  expect(answer).toEqual({ status: 'in_flight', retryAfterMs: expect.any(Number) })
  if (typeof answer !== 'object' || answer.status !== 'in_flight') return
  expect(answer.retryAfterMs).toBeGreaterThan(0)
  expect(answer.retryAfterMs).toBeLessThanOrEqual(LEASE)
}

/** The invariants of each race, besides being linearizable. */
export const RACES: Record<string, (track: Track) => Promise<void>> = {
  'of 24 claims of a new key one is granted': async (track) => {
    await expectOneGrant(track, await track.together(rivalClaims), 1)
  },

  'of 24 claims of a released key one is granted': async (track) => {
    await track.call(mine.claim, mine.release)
    await expectOneGrant(track, await track.together(rivalClaims), 2)
  },

  'of 24 takeovers one is granted, and the late holder gets nothing': async (track) => {
    await track.call(mine.claim)
    await track.advance(PAST_LEASE)
    await expectOneGrant(track, await track.together(rivalClaims), 2)
    expect(await track.together([mine.renew, mine.complete, mine.release])).toEqual([false, false, false])
    expectInFlight(await track.call(mine.claim))
  },

  'of 24 claims of a key whose retention is over one is granted, as a first attempt': async (track) => {
    await track.call(mine.claim, mine.complete)
    await track.advance(PAST_RETENTION)
    await expectOneGrant(track, await track.together(rivalClaims), 1)
  },

  '24 claims of a completed key all return that it is completed': async ({ call, together }) => {
    await call(mine.claim, mine.complete)
    expect(await together(rivalClaims)).toEqual(times(RIVALS, { status: 'completed' }))
  },

  'one claim that is sent 24 times is granted as one attempt': async ({ call, together }) => {
    await call(other.claim, other.release)
    const answers = await together(times(RIVALS, mine.claim))
    expect(answers).toEqual(times(RIVALS, { status: 'claimed', attempt: 2 }))
  },

  'late calls after a takeover change nothing': async ({ call, together, advance }) => {
    await call(mine.claim)
    await advance(PAST_LEASE)
    expect(await call(other.claim)).toEqual({ status: 'claimed', attempt: 2 })
    const answers = await together(times(6, mine.claim, mine.renew, mine.complete, mine.release))
    expect(answers.map(statusOf)).toEqual(times(6, 'in_flight', false, false, false))
    expect(await call(other.renew)).toBe(true)
    expect(await call(other.complete)).toBe(true)
  },

  'late calls of a former holder take nothing, whatever became of its successor': async (track) => {
    const { call, together, advance } = track
    const late = times(8, mine.renew, mine.complete, mine.release)
    const refused = late.map(() => false)
    await call(mine.claim)
    await advance(PAST_LEASE)
    await call(other.claim)
    await advance(PAST_LEASE)
    expect(await together(late)).toEqual(refused)
    await call(other.release)
    expect(await together(late)).toEqual(refused)
    expect(await call(third.claim)).toEqual({ status: 'claimed', attempt: 3 })
    await advance(PAST_RETENTION)
    expect(await together([mine.renew, mine.release])).toEqual([false, false])
    expect(await call(other.claim)).toEqual({ status: 'claimed', attempt: 1 })
    expect(await together(late)).toEqual(refused)
  },

  'late claims and renewals after a release do not take the key': async ({ call, together }) => {
    await call(mine.claim, mine.release)
    const answers = await together(times(12, mine.claim, mine.renew))
    expect(answers).toEqual(times(12, { status: 'in_flight', retryAfterMs: 1 }, false))
    expect(await call(other.claim)).toEqual({ status: 'claimed', attempt: 2 })
  },

  'late calls after a completion leave it completed': async ({ call, together }) => {
    await call(mine.claim, mine.complete)
    const answers = await together(times(8, mine.claim, mine.renew, mine.release))
    expect(answers.map(statusOf)).toEqual(times(8, 'completed', false, false))
    expect(await call(mine.complete)).toBe(true)
    expect(await call(other.claim)).toEqual({ status: 'completed' })
  },

  'a takeover and late calls of the holder leave one of the two with the key': async (track) => {
    const { call, together, advance } = track
    await call(mine.claim)
    await advance(PAST_LEASE)
    await together(times(8, other.claim, mine.renew, mine.claim))
    expect(await call(mine.renew)).toBe(!(await call(other.renew)))
    expectInFlight(await call(third.claim))
  },

  'a completion that races takeovers is recorded, or one of them is granted': async (track) => {
    const { call, together, advance } = track
    await call(mine.claim)
    await advance(PAST_LEASE)
    const answers = await together(amidst(rivalClaims, mine.complete))
    if (answers.includes(true)) {
      expect(answers.filter((answer) => statusOf(answer) === 'completed')).toHaveLength(RIVALS)
      expect(await call(third.claim)).toEqual({ status: 'completed' })
    } else {
      expect(grantsIn(answers)).toEqual([{ status: 'claimed', attempt: 2 }])
      expectInFlight(await call(third.claim))
    }
  },

  'a release that races claims is recorded, and lets one of them in at most': async ({ call, together }) => {
    await call(mine.claim)
    const answers = await together(amidst(rivalClaims, mine.release))
    expect(answers).toContain(true)
    const granted = grantsIn(answers)
    expect(granted.length).toBeLessThanOrEqual(1)
    const next = await call(third.claim)
    if (granted.length === 1) expectInFlight(next)
    expect(granted.length === 1 ? granted[0] : next).toEqual({ status: 'claimed', attempt: 2 })
  },

  'a release that races renewals and re-sent claims of its own is the last word': async ({
    call,
    together,
  }) => {
    await call(mine.claim)
    await together(amidst(times(12, mine.renew, mine.claim), mine.release))
    expect(await call(mine.renew)).toBe(false)
    expect(await call(other.claim)).toEqual({ status: 'claimed', attempt: 2 })
  },

  'a completion that races renewals and re-sent claims of its own is the last word': async (track) => {
    await track.call(mine.claim)
    await track.together(amidst(times(12, mine.renew, mine.claim), mine.complete))
    expect(await track.call(other.claim)).toEqual({ status: 'completed' })
  },

  'of a completion and a release that race one is recorded': async ({ call, together }) => {
    await call(mine.claim)
    const [completed, released] = await together([mine.complete, mine.release])
    expect(completed).toBe(!released)
    const claim = completed ? { status: 'completed' } : { status: 'claimed', attempt: 2 }
    expect(await call(other.claim)).toEqual(claim)
  },
}
