import { describe, expect, test } from 'vitest'
import type { StoreAnswer } from '../../testing/store-cases/transition.js'
import { assertLinearizable, type KeyAction, linearize, type RecordedCall } from '../support/linearizable.js'

const LEASE = 30_000
const RETAIN = 1_000_000

const claim = (token: string): KeyAction => ({ do: 'claim', token, leaseMs: LEASE, retainMs: RETAIN })
const renew = (token: string): KeyAction => ({ do: 'renew', token, leaseMs: LEASE })
const complete = (token: string): KeyAction => ({ do: 'complete', token, retainMs: RETAIN })
const release = (token: string): KeyAction => ({ do: 'release', token })
const advance = (ms: number): KeyAction => ({ do: 'advance', ms })

const claimed = (attempt: number): StoreAnswer => ({ status: 'claimed', attempt })
const inFlight: StoreAnswer = { status: 'in_flight', retryAfterMs: 17 }
const completed: StoreAnswer = { status: 'completed' }

/** From when to when, what was called, what was answered. */
type Line = readonly [start: number, end: number, call: KeyAction, answer?: StoreAnswer | undefined]

function historyOf(lines: readonly Line[]): RecordedCall[] {
  return lines.map(([start, end, call, answer]) => ({ start, end, call, answer }))
}

const taken: readonly Line[] = [[1, 2, claim('a'), claimed(1)]]
const leftBehind: readonly Line[] = [...taken, [3, 4, advance(LEASE)]]
const released: readonly Line[] = [...taken, [3, 4, release('a'), true]]

describe('a history is linearizable', () => {
  test.each<[why: string, lines: readonly Line[]]>([
    ['that is empty', []],
    ['of one claim after another', [...taken, [3, 4, claim('b'), inFlight]]],
    [
      'of claims at once of which the last one sent is granted',
      [
        [1, 4, claim('a'), inFlight],
        [2, 3, claim('b'), claimed(1)],
      ],
    ],
    [
      'in which a takeover counts on',
      [...leftBehind, [5, 6, claim('b'), claimed(2)], [7, 8, complete('a'), false]],
    ],
    ['in which a holder whom nobody replaced completes late', [...leftBehind, [5, 6, complete('a'), true]]],
    [
      'in which a completion and a claim at once go one way',
      [...taken, [3, 6, complete('a'), true], [4, 5, claim('b'), completed]],
    ],
    [
      'in which a completion and a claim at once go the other way',
      [...taken, [3, 6, complete('a'), true], [4, 5, claim('b'), inFlight]],
    ],
    [
      'in which a re-sent claim is granted again',
      [
        [1, Infinity, claim('a')],
        [2, 3, claim('a'), claimed(1)],
      ],
    ],
    [
      'in which a claim without a reply was granted',
      [
        [1, Infinity, claim('a')],
        [2, 3, claim('b'), inFlight],
      ],
    ],
    [
      'in which a claim without a reply never arrived',
      [
        [1, Infinity, claim('a')],
        [2, 3, claim('b'), claimed(1)],
      ],
    ],
    [
      'in which a release without a reply arrived much later',
      [...taken, [3, Infinity, release('a')], [4, 5, claim('b'), inFlight], [6, 7, claim('b'), claimed(2)]],
    ],
    [
      'in which of two calls that are the same the one that ended first came first',
      [
        [1, 4, claim('a'), claimed(1)],
        [2, 10, claim('a'), claimed(1)],
        [5, 6, advance(RETAIN), undefined],
        [7, 8, renew('a'), true],
      ],
    ],
    [
      'in which a record is past its retention',
      [...taken, [3, 4, advance(RETAIN)], [5, 6, claim('b'), claimed(1)]],
    ],
  ])('%s', (_why, lines) => {
    const history = historyOf(lines)
    expect(linearize(history)).toMatchObject({ isLinearizable: true })
    expect(() => assertLinearizable(history, 'a test')).not.toThrow()
  })
})

describe('a history is not linearizable', () => {
  test.each<[why: string, lines: readonly Line[]]>([
    [
      'in which two claims are granted at once',
      [
        [1, 4, claim('a'), claimed(1)],
        [2, 3, claim('b'), claimed(1)],
      ],
    ],
    ['in which a live lease is taken over', [...taken, [3, 4, claim('b'), claimed(2)]]],
    [
      'in which nobody gets a free key',
      [
        [1, 4, claim('a'), inFlight],
        [2, 3, claim('b'), inFlight],
      ],
    ],
    ['in which a takeover does not count on', [...leftBehind, [5, 6, claim('b'), claimed(1)]]],
    [
      'in which a holder completes after it was replaced',
      [...leftBehind, [5, 6, claim('b'), claimed(2)], [7, 8, complete('a'), true]],
    ],
    ['in which a stranger releases', [...taken, [3, 4, release('b'), true]]],
    ['in which a late renewal takes a released record', [...released, [5, 6, renew('a'), true]]],
    [
      'in which a late claim takes what its own token released',
      [...released, [5, 6, claim('a'), claimed(1)]],
    ],
    [
      'in which a completed event runs again',
      [...taken, [3, 4, complete('a'), true], [5, 6, claim('b'), claimed(2)]],
    ],
    [
      'in which a call sees what began after its end',
      [
        [1, 2, claim('b'), inFlight],
        [3, 4, claim('a'), claimed(1)],
      ],
    ],
    [
      'in which one claim without a reply would have to be granted twice',
      [
        [1, Infinity, claim('a')],
        [2, 3, claim('b'), claimed(2)],
      ],
    ],
    [
      'in which a call without a reply took effect before it was sent',
      [...taken, [3, 4, claim('b'), claimed(2)], [5, Infinity, release('a')]],
    ],
  ])('%s', (_why, lines) => {
    const history = historyOf(lines)
    expect(linearize(history)).toMatchObject({ isLinearizable: false })
    expect(() => assertLinearizable(history, 'a test')).toThrow(
      'No order of these calls explains their answers (a test)',
    )
  })
})
