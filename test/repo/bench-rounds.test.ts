import { describe, expect, test } from 'vitest'
import { spread, times } from '../../bench/support/figures.js'
import { verdictOf } from '../../bench/support/goal.js'
import { ticksOfAll, ticksOfFamily } from '../../bench/support/others.js'
import { alternate, estimateOf, ratioOf, tally, undisturbed } from '../../bench/support/rounds.js'

/** Contestants that note their turns. */
function runners(turns: string[]) {
  return ['ours', 'theirs'].map((name) => async () => {
    turns.push(name)
    return turns.length
  })
}

const options = { before: () => {} }
const quiet = { ...options, watch: () => () => false }

describe('the rounds of a measurement', () => {
  test('alternate, and the first is not counted', async () => {
    const turns: string[] = []
    const figures = await alternate(2, runners(turns), quiet)
    expect(turns).toEqual(['ours', 'theirs', 'ours', 'theirs', 'theirs', 'ours'])
    expect(figures).toEqual([
      [3, 6],
      [4, 5],
    ])
  })

  test('are thrown away and repeated while others are busy, at most half as many', async () => {
    const before = { ...tally }
    const turns: string[] = []
    const busy = [true, false, true, true, false, false]
    const figures = await alternate(4, runners(turns), {
      ...options,
      watch: () => () => busy.shift() ?? false,
    })
    // The warm-up, four that count, and the two that are repeated; the next busy one is kept.
    expect(turns).toHaveLength(2 * 7)
    expect(figures.map(({ length }) => length)).toEqual([4, 4])
    expect(figures[0]).not.toContain(3)
    expect(tally).toEqual({
      kept: before.kept + 4,
      repeated: before.repeated + 2,
      busy: before.busy + 1,
    })
  })
})

test('the time of others is that of all, without this process and its descendants', () => {
  const stat = (pid: number, name: string, parent: number, times: readonly number[]) =>
    `${pid} (${name}) S ${parent} 1 1 0 -1 0 0 0 0 0 ${times.join(' ')} 20 0 1 0 100`
  const stats = [
    stat(1, 'init', 0, [900, 0, 0, 0]),
    stat(20, 'node', 1, [1, 2, 4, 8]),
    stat(21, 'a) name (with 1 2', 20, [16, 0, 0, 0]),
    stat(22, 'postgres', 21, [0, 32, 0, 0]),
    stat(30, 'other', 1, [500, 0, 0, 0]),
  ]
  expect(ticksOfFamily(stats, 20)).toBe(63)
  expect(ticksOfAll('cpu  1 2 4 100 200 8 16 32 0 0\ncpu0 1 2 4 100 200 8 16 32 0 0\n')).toBe(63)
})

describe('a figure', () => {
  test('is what the best tenth reach: of times the lower, of rates the upper', () => {
    const figures = [5, 1, 3, 2, 4, 11, 9, 8, 10, 7, 6]
    expect(undisturbed(figures, 'time')).toBe(2)
    expect(undisturbed(figures, 'rate')).toBe(10)
  })

  test('is not changed by a slow phase of half of the rounds', () => {
    const slow = (figure: number) => Array.from({ length: 16 }, (_, round) => figure * (round < 8 ? 1 : 3))
    expect(ratioOf(slow(20), slow(10), 'time').value).toBe(2)
    // A phase that meets only one of the two.
    const steady = Array.from({ length: 16 }, () => 10)
    expect(ratioOf(slow(20), steady, 'time').value).toBe(2)
  })

  test('has the range of its parts, which are every fourth pair of rounds', () => {
    const figures = [2, 2, 2, 2, 3, 3, 4, 4]
    expect(estimateOf(figures, 'time')).toEqual({ value: 2, least: 2, most: 4 })
  })

  test('that is exact has no range', () => {
    expect(spread(estimateOf([3], 'time'))).toBe('3')
    expect(spread({ value: 2, least: 1.5, most: 2.5 }, times)).toBe('2.00× (1.50×–2.50×)')
  })
})

test.each([
  [{ value: 1, least: 0.9, most: 1.05 }, 'reached'],
  [{ value: 1, least: 0.9, most: 1.2 }, 'reached, close'],
  [{ value: 1.2, least: 1.15, most: 1.3 }, 'missed'],
  [{ value: 1.2, least: 1.05, most: 1.3 }, 'missed, close'],
])('%o with a goal of at most 1.1 is %s', (ratio, verdict) => {
  expect(verdictOf(ratio, { atMost: 1.1 })).toBe(verdict)
})
