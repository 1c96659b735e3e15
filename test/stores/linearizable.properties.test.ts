import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { LedgerAnswer } from '../../src/ledger/transition.js'
import {
  ABSENT,
  act,
  type KeyAction,
  type KeyState,
  linearize,
  type RecordedCall,
} from '../support/linearizable.js'
import { runs } from '../support/runs.js'
import { delayed } from '../support/store-backend.js'
import { randomHistories } from '../support/store-history.js'
import { FAULTY_STORES } from '../support/testing/faulty-stores.js'
import { createBackend, modelStore } from '../support/testing/model-store.js'

const LEASE = 30_000
const RETAIN = 1_000_000

const tokens = fc.constantFrom('1', '2', '3')
const leaseMs = fc.constantFrom(1, LEASE, 10 * LEASE)
const retainMs = fc.constantFrom(10 * LEASE, RETAIN, 5 * RETAIN)
const calls: fc.Arbitrary<KeyAction> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('claim' as const), token: tokens, leaseMs, retainMs }),
  },
  fc.record({ do: fc.constant('renew' as const), token: tokens, leaseMs }),
  fc.record({ do: fc.constant('complete' as const), token: tokens, retainMs }),
  fc.record({ do: fc.constant('release' as const), token: tokens }),
  fc.record({ do: fc.constant('advance' as const), ms: fc.constantFrom(1, LEASE, 200_000, RETAIN) }),
)

const CLAIM_ANSWERS: readonly LedgerAnswer[] = [
  { status: 'completed' },
  { status: 'in_flight', retryAfterMs: 17 },
  { status: 'claimed', attempt: 1 },
  { status: 'claimed', attempt: 2 },
]

/** Calls whose answers come from an order that took place, one of which may then be changed. */
const histories: fc.Arbitrary<{ history: RecordedCall[]; isGenuine: boolean }> = fc
  .record({
    sent: fc.array(fc.record({ call: calls, isLost: fc.nat(4).map((n) => n === 0) }), {
      minLength: 1,
      maxLength: 5,
      size: 'max',
    }),
    moments: fc.uniqueArray(fc.nat(40), { minLength: 15, maxLength: 15 }),
    forged: fc.option(
      fc.record({
        at: fc.nat(4),
        answer: fc.constantFrom<LedgerAnswer>(true, false, ...CLAIM_ANSWERS),
      }),
    ),
  })
  .map(({ sent, moments, forged }) => {
    const placed = sent.map(({ call, isLost }, index) => {
      const [start, effect, end] = moments.slice(3 * index, 3 * index + 3).sort((a, b) => a - b) as [
        number,
        number,
        number,
      ]
      return { call, start, effect, end: isLost ? Infinity : end }
    })
    let state: KeyState = ABSENT
    const answers = new Map<number, LedgerAnswer | undefined>()
    for (const { call, effect } of [...placed].sort((a, b) => a.effect - b.effect)) {
      const step = act(state, call)
      answers.set(effect, step.answer)
      state = step.state
    }
    const history = placed.map(({ call, start, effect, end }, index) => {
      const isForged = forged?.at === index && call.do !== 'advance'
      return {
        call,
        start,
        end,
        answer: end === Infinity ? undefined : isForged ? forged.answer : answers.get(effect),
      }
    })
    return { history, isGenuine: forged === null }
  })

function isExplanation(order: readonly RecordedCall[], history: readonly RecordedCall[]): boolean {
  let state: KeyState = ABSENT
  for (const [index, { call, end, answer }] of order.entries()) {
    if (order.slice(0, index).some(({ start }) => start > end)) return false
    const step = act(state, call)
    if (end < Infinity && !isAlike(step.answer, answer)) return false
    state = step.state
  }
  return history.every((recorded) => recorded.end === Infinity || order.includes(recorded))
}

function isAlike(one: LedgerAnswer | undefined, another: LedgerAnswer | undefined): boolean {
  const essence = (answer: LedgerAnswer | undefined) =>
    JSON.stringify(answer)?.replace(/,"retryAfterMs":\d+/, '')
  return essence(one) === essence(another)
}

/** All orders of all choices of the calls. */
function* ordersOf(left: readonly RecordedCall[], order: RecordedCall[] = []): Generator<RecordedCall[]> {
  yield order
  for (const next of left)
    yield* ordersOf(
      left.filter((other) => other !== next),
      [...order, next],
    )
}

test('the search finds an order exactly where trying all of them does', () => {
  const seen = { true: 0, false: 0 }
  fc.assert(
    fc.property(histories, ({ history, isGenuine }) => {
      const { isLinearizable, order } = linearize(history)
      const isPossible = [...ordersOf(history)].some((each) => isExplanation(each, history))
      expect(isLinearizable).toBe(isPossible)
      if (isLinearizable) expect(isExplanation(order, history)).toBe(true)
      if (isGenuine) expect(isLinearizable).toBe(true)
      seen[`${isLinearizable}`] += 1
    }),
    { numRuns: runs(1500) },
  )
  expect(Math.min(seen.true, seen.false)).toBeGreaterThan(100)
})

test.each(['race-fresh', 'claim-takeover', 'complete-stranger', 'claim-resent-released'])(
  'few random histories find a store with a fault of the case %s',
  async (id) => {
    const [patch] = [FAULTY_STORES[id] ?? []].flat()
    expect(patch).toBeDefined()
    for (const isLossy of [false, true]) {
      const backend = createBackend()
      const clients = [1, 2].map(() => delayed(modelStore(backend, patch)))
      const advance = async (ms: number) => {
        backend.nowMs += ms
      }
      const histories = await randomHistories(clients, { advance }, { count: 200, isLossy, seed: 3 })
      const found = histories.filter(({ calls }) => !linearize(calls).isLinearizable)
      expect(found.length).toBeGreaterThanOrEqual(3)
    }
  },
)
