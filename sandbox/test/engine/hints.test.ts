import { expect, test } from 'vitest'
import { hintFor } from '../../engine/hints.js'
import { checkDestination } from '../../engine/network/address-rules.js'
import type { SendResult } from '../../engine/network/send.js'

const TRIED = {
  url: 'http://127.0.0.1:3000/hooks?x=1',
  secrets: ['whsec_new_2f7c1b3f2a', 'whsec_old_0123456789'],
  timeoutMs: 15_000,
}

const QUESTIONS =
  'is its secret the one that ends in …3f2a or …6789, does it verify the raw body, and is its clock right?'
const NOT_FOLLOWED = 'Redirects are not followed'
const NO_TARGET = `${NOT_FOLLOWED}, and the target of this one cannot be the endpoint's URL.`

const ours = (status: number, outcome: string) => `${status} {"outcome":"${outcome}"}`

/** An answer from `404 body` or `301 -> location`, or an error from its code. */
function resultOf(text: string): SendResult {
  const [, status, location, body = ''] = /^(\d{3})(?: -> (.*)| (.*))?$/.exec(text) ?? []
  if (status === undefined) return { error: { code: text, message: 'as it is' } }
  const headers: Record<string, string> = location === undefined ? {} : { location }
  return { response: { status: Number(status), headers, body, truncated: false } }
}

test.each([
  [
    'timeout',
    'It took over 15 s: hand long work to a queue, and answer once it is in there. While debugging, allow more: --timeout 10m (timeoutSeconds: 600).',
  ],
  ['301 -> /there', `${NOT_FOLLOWED}: set the endpoint's URL to http://127.0.0.1:3000/there.`],
  ['302 -> https://other.test/x', `${NOT_FOLLOWED}: set the endpoint's URL to https://other.test/x.`],
  [
    '302 -> http://169.254.169.254/latest',
    `${NO_TARGET} 169.254.169.254 is link-local, multicast, unspecified or the metadata service of a cloud: nothing is ever sent there.`,
  ],
  [
    '302 -> https://me:hunter2@other.test/',
    `${NO_TARGET} The URL has a name or a password in it, which would be shown in logs: leave them out.`,
  ],
  ['401', `Your receiver refused it: ${QUESTIONS}`],
  [
    ours(401, 'unauthenticated'),
    `Your receiver refused the signature: ${QUESTIONS} Its log has the code: signature_mismatch is the secret or the body, timestamp_… the clock.`,
  ],
  [
    '403 <p>Log in</p>',
    `403 from something other than tix-webhooks: does a login, a CSRF check or a proxy stand in front of /hooks? If it is a receiver of your own: ${QUESTIONS}`,
  ],
  ['500 ECONNREFUSED db:5432', 'Your receiver failed with 500: “ECONNREFUSED db:5432”.'],
  [
    ours(503, 'retry_later'),
    'Your handler threw RetryLater: the service retries after the time that it asked for.',
  ],
])('the hint for %s is %j', (result, hint) => {
  expect(hintFor(TRIED, resultOf(result))).toBe(hint)
})

test("the target of a redirect is checked by the sandbox's own rules about addresses", () => {
  const tried = { ...TRIED, checkUrl: checkDestination }
  expect(hintFor(tried, resultOf('302 -> http://8.8.8.8/hooks'))).toMatch(
    /cannot be the endpoint's URL\. 8\.8\.8\.8 is a public address, .* --allow-public/,
  )
})

test('every failure has a hint in sentences, which shows at most the last four characters of a secret', () => {
  const tried = { ...TRIED, secrets: ['whsec_quite_secret_abcd', 'short'] }
  for (let status = 100; status < 600; status++) {
    if (status >= 200 && status < 300) continue
    const hint = hintFor(tried, resultOf(String(status)))
    expect(hint).toMatch(/[.?]$/)
    expect(hint).not.toMatch(/secret_|short|whsec/)
  }
  expect(hintFor({ ...TRIED, secrets: ['short'] }, resultOf('401'))).toContain('ends in …, does')
})

test('a hint quotes no secret that the answer has', () => {
  const secret = 'whsec_test_very_long/12345'
  const tried = { url: 'http://127.0.0.1:3000/hooks', secrets: [secret], timeoutMs: 1000 }
  const answers = [`500 secret=${secret}`, `302 -> /x?s=${encodeURIComponent(secret)}`]
  expect(answers.map((answer) => hintFor(tried, resultOf(answer)))).toEqual([
    'Your receiver failed with 500: “secret=…2345”.',
    `${NOT_FOLLOWED}: set the endpoint's URL to http://127.0.0.1:3000/x?s=…2345.`,
  ])
})
