import { answerTo } from 'tix-webhooks'
import { SCENARIOS, type ScenarioName } from 'tix-webhooks/testing'
import { expect, test } from 'vitest'
import { SECRET } from '../../../../test/support/deliveries.js'
import type { AfterSilence, Consequence } from '../../../cli/check/consequence.js'
import { judge } from '../../../cli/check/judge.js'
import type { Probed } from '../../../cli/check/probed.js'
import type { SendResult } from '../../../engine/network/send.js'

const answered = (status: number): SendResult => ({
  response: { status, headers: {}, body: '', truncated: false },
})
const PARKED: SendResult = {
  response: { ...answerTo({ outcome: 'parked' }), truncated: false },
}
/** A status, the word `parked`, or the code of an error. */
function resultOf(got: number | string): SendResult {
  if (got === 'parked') return PARKED
  return typeof got === 'number' ? answered(got) : { error: { code: got, message: got } }
}

/** Which deliveries are of one event. */
const BODIES: Partial<Record<ScenarioName, readonly string[]>> = {
  tied: ['A', 'B', 'A'],
  duplicate: ['A', 'A', 'A'],
  'concurrent-burst': ['A', 'A', 'A', 'A', 'A'],
}

function judged(name: ScenarioName, got: readonly (number | string)[], more: Partial<Probed> = {}) {
  const scenario = SCENARIOS.find((one) => one.name === name)
  if (scenario === undefined) throw new Error(name)
  const probed = {
    scenario,
    url: 'http://localhost:3000/hooks',
    timeoutMs: 15_000,
    secret: SECRET,
    bodies: BODIES[name] ?? [],
    ...more,
  }
  return judge(probed, got.map(resultOf))
}

test.each<[ScenarioName, (number | string)[]]>([
  ['duplicate', [200, 204, 202]],
  ['tied', [200, 200, 409]],
  ['concurrent-burst', [200, 200]],
  ['concurrent-burst', [503, 409, 425, 429, 200]],
  ['truncated', [400, 401, 403, 404, 499]],
  ['not-json', [500, 302, 503]],
])('%s passes with %j', (name, got) => {
  expect(judged(name, got)).toEqual({ passed: true, expected: expect.stringMatching(/answered/) })
})

test.each<[number | string, RegExp]>([
  [400, /^The service is documented to retry a 4xx too/],
  ['parked', /^It parked this: a 2xx ends the retries/],
])('what is no event passes with %j, and a note', (got, note) => {
  expect(judged('not-an-envelope', [500, got])).toEqual({
    passed: true,
    expected: 'none answered 2xx',
    note: expect.stringMatching(note),
  })
})

test.each<[ScenarioName, (number | string)[], Consequence, string]>([
  ['valid', [401], 'undecided', 'its secret is not the one that ends in 7c1b,'],
  ['stale', [429], 'undecided', 'It answers 429, which proves nothing'],
  ['valid', ['parked'], 'undecided', 'Your receiver parked it: it is not handled'],
  ['concurrent-burst', [503, 'parked', 200], 'undecided', 'Your receiver parked it: it is not handled'],
  ['stale', ['parked'], 'accepts_replays', 'It ACCEPTED A REPLAY.'],
  ['not-json', ['parked', 200], 'loses_events', 'Answer 5xx to an authentic body that you cannot read'],
  ['duplicate', [200, 200, 409], 'retries_in_vain', 'Answer 2xx to an event that was handled before'],
  ['reordered', [200, 409], 'loses_events', 'Deliveries arrive in any order'],
  ['duplicate', [500, 500, 500], 'loses_events', 'Answer 2xx to an event that was handled before'],
  ['tied', [200, 409, 200], 'loses_events', 'Two events can have the same created_at'],
  ['tied', [200, 'timeout'], 'loses_events', 'It took over 15 s: hand long work to a queue'],
  ['duplicate', [200, 302, 200], 'retries_in_vain', 'Redirects are not followed'],
  ['duplicate', [200, 429, 200], 'undecided', 'It answers 429, which proves nothing'],
  ['unknown-kind', [200, 404], 'retries_in_vain', 'Answer 2xx to kinds that you do not handle'],
  ['concurrent-burst', [200, 500], 'retries_in_vain', 'Record an event before you handle it'],
  ['concurrent-burst', [200, 'ECONNRESET'], 'retries_in_vain', 'localhost:3000 closed the connection'],
  ['stale', [200], 'accepts_replays', 'It ACCEPTED A REPLAY. Answer 401 if it was signed more than'],
  [
    'truncated',
    [401, 500, 401, 429, 301, 204],
    'accepts_forgeries',
    'It ACCEPTED A FORGERY. Compare only signatures',
  ],
  [
    'truncated',
    [401, 500],
    'harmless',
    'It answers 5xx, which makes the service retry for 72 hours: answer 4xx. Compare only',
  ],
  ['truncated', [401, 308], 'harmless', 'Redirects are not followed'],
  ['not-json', [500, 200], 'loses_events', 'Answer 5xx to an authentic body that you cannot read'],
  [
    'not-an-envelope',
    [500, 200, 'ECONNRESET'],
    'loses_events',
    'a 2xx means that it was handled. localhost:3000 closed the connection without a complete answer',
  ],
  ['not-json', [500, 'ECONNRESET'], 'crashes', 'localhost:3000 closed the connection'],
])('%s fails with %j: %s', (name, got, consequence, advice) => {
  expect(judged(name, got)).toMatchObject({
    passed: false,
    consequence,
    advice: expect.stringContaining(advice),
  })
})

test.each<[ScenarioName, AfterSilence, Consequence, string]>([
  ['stale', 'nothing', 'crashes', 'localhost:3000 closed the connection'],
  [
    'stale',
    'no_forgery',
    'harmless',
    'It does not answer forgeries (ECONNRESET), but still answers genuine deliveries',
  ],
  ['stale', 'others', 'undecided', 'It did not answer this (ECONNRESET), and still answers others'],
  ['not-json', 'no_forgery', 'undecided', 'It did not answer this (ECONNRESET)'],
])('no answer to %s, and then %s: %s', (name, afterSilence, consequence, advice) => {
  expect(judged(name, ['ECONNRESET'], { afterSilence })).toMatchObject({
    passed: false,
    consequence,
    advice: expect.stringContaining(advice),
  })
})

test('a 409 means that the one order that there is was handled before', () => {
  expect(judged('valid', [409], { isOneOrder: true }).passed).toBe(true)
  expect(judged('duplicate', [409, 409, 409], { isOneOrder: true }).consequence).toBe('retries_in_vain')
})

test('an accepted forgery is shown first, and what else was not refused after it', () => {
  const repeatsTime = [false, true, false, false]
  expect(judged('malformed-header', [500, 200, 400, 200], { repeatsTime }).at).toEqual([3, 0, 1])
})

test.each([['short'], [Buffer.from('whsec_of_bytes')]])('advice shows no end of the secret %s', (secret) => {
  expect(judged('valid', [401], { secret }).advice).toContain('is not the one that you gave, it does not')
})

test('advice quotes no secret that an answer has', () => {
  const secret = 'whsec_test_very_long'
  const echo = { response: { status: 422, headers: {}, body: `your secret: ${secret}`, truncated: false } }
  const [valid] = SCENARIOS
  if (valid === undefined) throw new Error('no scenario')
  const probed = { scenario: valid, url: 'http://localhost:3000/hooks', timeoutMs: 1, secret: [secret] }
  expect(judge(probed, [echo]).advice).toContain('“your secret: …long”')
})
