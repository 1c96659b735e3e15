import fc from 'fast-check'
import { answerTo, type OutcomeName } from 'tix-webhooks'
import { describe, expect, test } from 'vitest'
import { firstWords } from '../../lib/first-words.js'
import { isHandled, isParked, outcomeOf } from '../../lib/outcome-of.js'
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
  for (const random of [new Random(), new Random().fork()]) {
    const { state } = random
    expect(random.secretCharacters(32)).toMatch(/^[0-9A-Za-z]{32}$/)
    expect(random.state).toEqual(state)
  }
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

/** All of them: the type check fails if one is missing. `parked` is a 200, but not handled. */
const OUTCOMES: Record<OutcomeName, 'handled' | 'parked' | undefined> = {
  ...{ handled: 'handled', duplicate: 'handled', unhandled: 'handled', discarded: 'handled' },
  parked: 'parked',
  ...{ malformed: undefined, incomplete: undefined, unauthenticated: undefined, too_large: undefined },
  ...{ method_not_allowed: undefined, failed: undefined, unprocessable: undefined, timed_out: undefined },
  ...{ misconfigured: undefined, in_flight: undefined, retry_later: undefined, unavailable: undefined },
  overloaded: undefined,
}

test.each(Object.entries(OUTCOMES))('the answer of %s is %s', (outcome, meaning) => {
  const answer = answerTo({ outcome: outcome as OutcomeName })
  expect(outcomeOf(answer.body)).toBe(outcome)
  expect([isHandled(answer), isParked(answer)]).toEqual([meaning === 'handled', meaning === 'parked'])
})

test.each(['', 'ok', '{}', '{"outcome":1}', '{"outcome":"handled","id":1}', '[{"outcome":"handled"}]'])(
  '%j has no outcome',
  (body) => expect(outcomeOf(body)).toBeUndefined(),
)

test('no answer is neither handled nor parked, and that of another receiver counts by its status', () => {
  expect([isHandled(undefined), isParked(undefined)]).toEqual([false, false])
  expect([204, 301, 500].map((status) => isHandled({ status, body: '' }))).toEqual([true, false, false])
  expect(isParked({ status: 500, body: '{"outcome":"parked"}' })).toBe(false)
})

const EXPRESS =
  '<!DOCTYPE html><html lang="en"><title>Error</title><pre>Error: no db<br> &nbsp;at TCPConnectWrap</pre></html>'

test.each([
  ['', undefined],
  ['ECONNREFUSED db:5432\n    at connect', 'ECONNREFUSED db:5432'],
  ['\n\n  second   line first ', 'second line first'],
  ['{"outcome":"in_flight"}', 'in_flight'],
  ['{"statusCode":500,"error":"Internal Server Error","message":"db down"}', 'db down'],
  ['{"error":{"code":"x","message":"db down"}}', 'db down'],
  [EXPRESS, 'Error: no db'],
  [`{\n"message":"db down","stack":"${'x'.repeat(70_000)}`, 'db down'],
  [
    '<!-- <p>a</p> --><style>p{}</style><h1>500</h1><h2>Internal Server Error.</h2>',
    'Internal Server Error.',
  ],
  [`<html><head><style>${'p{}'.repeat(9000)}</style></head><h1>Routing Error</h1>`, 'Routing Error'],
  ['<p>can&#x27;t &mdash; &#34;it&#8217;s&#34;</p>', 'can\'t — "it’s"'],
  ['\u001f\ufffd\b\0', undefined],
  ['🎫'.repeat(121), `${'🎫'.repeat(119)}…`],
])('the first words of the answer %j are %j', (body, words) => {
  expect(firstWords({ headers: {}, body })).toBe(words)
})

test('first words are read from a page by its content type, and within bounds', () => {
  const headers = { 'content-type': 'text/html; charset=utf-8' }
  expect(firstWords({ headers, body: 'no <b>db</b>' })).toBe('no db')
  expect(firstWords({ headers: {}, body: `{"message":"${'['.repeat(1e6)}` })).toHaveLength(120)
  expect(firstWords({ headers, body: '<script '.repeat(1e5) })).toBeUndefined()
  expect(firstWords({ headers: {}, body: '['.repeat(32_000) + ']'.repeat(32_000) })).toHaveLength(120)
})
