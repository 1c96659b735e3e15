import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Random } from '../../lib/random.js'

const draws = (random: Random, count = 20): number[] => Array.from({ length: count }, () => random.fraction())

test('without a seed, neither a fork nor a state that is restored gives an id again', () => {
  const some = new Random()
  const { state } = some
  const ids = [some.id(''), some.fork().id('')]
  some.restore(state)
  ids.push(some.id(''), some.fork().id(''))
  const other = new Random()
  other.restore(state)
  ids.push(other.id(''))
  expect(new Set(ids).size).toBe(5)
})

test('[N140] secret characters are of the seed, and without one of nothing that is drawn or saved', () => {
  const [some, same] = [new Random(5), new Random(5)]
  expect(some.secretCharacters(32)).toBe(same.secretCharacters(32))
  const random = new Random()
  const { state } = random
  expect(random.secretCharacters(32)).toMatch(/^[0-9A-Za-z]{32}$/)
  expect(random.state).toEqual(state)
})

test('100,000 ids are all different, and made of all letters and digits alike', { tags: ['slow'] }, () => {
  const random = new Random(7)
  const ids = Array.from({ length: 100_000 }, () => random.id(''))
  expect(new Set(ids).size).toBe(100_000)
  const counts = new Map<string, number>()
  for (const character of ids.join('')) counts.set(character, (counts.get(character) ?? 0) + 1)
  expect(counts.size).toBe(62)
  const expected = 2_000_000 / 62
  for (const count of counts.values()) expect(Math.abs(count - expected) / expected).toBeLessThan(0.05)
})

test('fractions are from 0 up to 1, and spread evenly', () => {
  fc.assert(
    fc.property(fc.integer(), (seed) => {
      for (const fraction of draws(new Random(seed))) {
        expect(fraction).toBeGreaterThanOrEqual(0)
        expect(fraction).toBeLessThan(1)
      }
    }),
  )
  const many = draws(new Random(3), 100_000)
  expect(many.reduce((sum, one) => sum + one, 0) / many.length).toBeCloseTo(0.5, 2)
})

test.each([0.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 60, '7', null])('refuses the seed %s', (seed) => {
  expect(() => new Random(seed as number)).toThrow(/^The seed must be a whole number, such as 42, not/)
})

test('draws from a fork change nothing for others', () => {
  const [some, same] = [new Random(5), new Random(5)]
  const [fork, other] = [some.fork(), same.fork()]
  const drawn = draws(fork, 1000)
  expect(draws(some)).toEqual(draws(same))
  expect(draws(other, 1000)).toEqual(drawn)
  expect(draws(some)).not.toEqual(drawn.slice(0, 20))
})

describe('a state', () => {
  test('is plain JSON, from which the same draws follow', () => {
    fc.assert(
      fc.property(fc.integer(), fc.nat(50), (seed, drawn) => {
        const random = new Random(seed)
        draws(random, drawn)
        const state = JSON.parse(JSON.stringify(random.state))
        const next = draws(random)
        const restored = new Random(0)
        restored.restore(state)
        expect(draws(restored)).toEqual(next)
      }),
    )
  })

  // After four zeros, all draws would be zeros.
  const invalid = [[], [1, 2, 3], [1, 2, 3, 4, 5], [1, 2, 3, 0.5], [1, 2, 3, '4'], [0, 0, 0, 0], '1234', null]
  test.each(invalid.map((state) => [state]))('that is invalid is refused: %j', (state) => {
    const random = new Random(1)
    expect(() => random.restore(state as number[])).toThrow(/^That is not the state of a generator/)
    expect(draws(random)).toEqual(draws(new Random(1)))
  })
})
