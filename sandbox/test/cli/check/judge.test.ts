import { createColors } from 'picocolors'
import { answerTo } from 'tix-webhooks'
import { SCENARIOS, type ScenarioName } from 'tix-webhooks/testing'
import { expect, test } from 'vitest'
import { SECRET } from '../../../../test/support/deliveries.js'
import type { AfterSilence, Consequence } from '../../../cli/check/consequence.js'
import { judge } from '../../../cli/check/judge.js'
import type { Probed } from '../../../cli/check/probed.js'
import { retriedFailure } from '../../../cli/check/retried-failure.js'
import type { WrongDelivery } from '../../../cli/check/wrong-delivery.js'
import { wrongLines } from '../../../cli/check/wrong-lines.js'
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

/** Judges a receiver that answers an order that fails like this, and then 500. */
async function retried(statuses: readonly (number | string)[], isUp = true) {
  const answers = statuses.values()
  return retriedFailure({
    signing: { secret: SECRET },
    isUp: async () => isUp,
    send: async () => resultOf(answers.next().value ?? 500),
  })
}

test.each<[string, number[], string]>([
  ['two failures and two acknowledgements', [500, 200, 500, 200], '500 and then 200 to the same event: it'],
  ['a failure that is a 4xx', [404, 204, 404, 204], '404 and then 204 to the same event: it'],
  ['the second order alone', [422, 422, 500, 200, 500, 200], '500 and then 200 to the same event: it'],
  [
    'the answer to a duplicate',
    [500, 409, 200, 409, 500, 409],
    '409 to the same event, as it does to one that was',
  ],
])('%s: it marks first', async (_, statuses, advice) => {
  expect(await retried(statuses)).toMatchObject({
    passed: false,
    got: statuses.slice(-2).map(String),
    consequence: 'loses_events',
    advice: expect.stringContaining(advice),
  })
})

test.each<[string, (number | string)[], string]>([
  [
    'a failure that is parked',
    [500, 'parked', 500, 'parked'],
    'It answers 500 and then 200 parked to an order',
  ],
  ['acknowledgements', [200, 200], 'Nothing made its handler fail'],
  ['failures', [500, 500, 500, 500], 'It may have failed before its handler ran'],
  ['one acknowledged retry', [500, 200, 500, 500], 'It answers 500 and then 200 to the same event, which'],
  ['a limit of requests', [429, 200, 429, 200], 'It answers 429 and then 200 to the same event, which'],
  ['a limit at the retry', [500, 429, 500, 429], 'It answers 500 and then 429 to the same event, which'],
  ['a lock', [500, 409, 200, 200, 500, 409], 'It answers 500 and then 409 to the same event, which'],
  ['no order that is handled', [500, 409, 500, 409], 'It answers 500 and then 409 to the same event, which'],
])('%s: nothing is proved, and that is said', async (_, statuses, note) => {
  expect(await retried(statuses)).toMatchObject({ passed: true, note: expect.stringContaining(note) })
})

test.each([
  [true, 'undecided'],
  [false, 'crashes'],
])('no answer, and up afterwards or not: %j', async (isUp, consequence) => {
  expect(await retried([500, 'ECONNRESET'], isUp)).toMatchObject({
    passed: false,
    got: ['500', 'ECONNRESET'],
    consequence,
  })
})

const ONE: WrongDelivery = { number: 1, of: 1, header: 't=1,v1=ab', body: '{}', answer: '401' }

const linesOf = (wrong: readonly WrongDelivery[], isWhole = false): readonly string[] =>
  wrongLines(wrong, isWhole, createColors(false))

test('those that are alike are shown once, and three at most unless all are asked for', () => {
  const wrong = Array.from({ length: 12 }, (_, index) => ({
    ...ONE,
    number: index + 1,
    of: 12,
    body: `${Math.floor(index / 2)} ${'x'.repeat(99)}`,
  }))
  const few = linesOf(wrong)
  expect(few.filter((line) => !line.startsWith('        '))).toEqual([
    '      deliveries 1, 2 of 12, answered 401',
    '      deliveries 3, 4 of 12, answered 401',
    '      deliveries 5, 6 of 12, answered 401',
    '      and 6 more: --verbose shows all of them, whole',
  ])
  expect(few.every((line) => line.length <= 80)).toBe(true)
  const whole = linesOf(wrong, true)
  expect(whole).toHaveLength(6 * 3)
  expect(whole.at(-1)).toBe(`        body    5 ${'x'.repeat(99)}`)
})
