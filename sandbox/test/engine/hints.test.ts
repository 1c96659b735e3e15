import { describe, expect, test } from 'vitest'
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

const status = (code: number, headers: Record<string, string> = {}, body = ''): SendResult => ({
  response: { status: code, headers, body, truncated: false },
})
const error = (code: string): SendResult => ({ error: { code, message: 'as it is' } })

describe('a hint says what to do about', () => {
  test.each<[string, SendResult, string]>([
    [
      'a refused connection',
      error('ECONNREFUSED'),
      'Nothing listens on 127.0.0.1:3000: is your receiver running, and is that its port?',
    ],
    ['an unknown name', error('ENOTFOUND'), 'The host 127.0.0.1 is unknown: is it spelled right?'],
    [
      'a connection that was cut',
      error('ECONNRESET'),
      '127.0.0.1:3000 closed the connection without a complete answer: did your receiver crash or restart?',
    ],
    [
      'a machine that is away',
      error('EHOSTUNREACH'),
      '127.0.0.1:3000 cannot be reached: is that machine up, and is that its address?',
    ],
    [
      'a time-out',
      error('timeout'),
      'It took over 15 s: hand long work to a queue, and answer once it is in there. While debugging, allow more: --timeout 10m (timeoutSeconds: 600).',
    ],
    ['an address that is refused', error('address_refused'), 'Nothing was sent. as it is'],
    ['a handler that threw', error('receiver_threw'), 'A receiver must always return a Response. as it is'],
    [
      'TLS where there is none',
      error('HPE_INVALID_CONSTANT'),
      '127.0.0.1:3000 does not speak HTTP: is it https://?',
    ],
    [
      'a certificate',
      error('DEPTH_ZERO_SELF_SIGNED_CERT'),
      'Its certificate is not trusted: use http://, or add its authority to NODE_EXTRA_CA_CERTS.',
    ],
    ['any other error', error('EWHATEVER'), 'There was no answer (EWHATEVER): as it is'],
    [
      'a redirect',
      status(301, { location: '/there' }),
      "Redirects are not followed: set the endpoint's URL to http://127.0.0.1:3000/there.",
    ],
    [
      'a redirect elsewhere',
      status(302, { location: 'https://other.test/x' }),
      "Redirects are not followed: set the endpoint's URL to https://other.test/x.",
    ],
    [
      'a redirect to nowhere',
      status(307),
      "Redirects are not followed: set the endpoint's URL to its target.",
    ],
    [
      'a redirect to an address that nothing is sent to',
      status(302, { location: 'http://169.254.169.254/latest' }),
      "Redirects are not followed, and the target of this one cannot be the endpoint's URL. 169.254.169.254 is link-local, multicast, unspecified or the metadata service of a cloud: nothing is ever sent there.",
    ],
    [
      'a redirect to a URL with a password, which is not shown',
      status(302, { location: 'https://me:hunter2@other.test/' }),
      "Redirects are not followed, and the target of this one cannot be the endpoint's URL. The URL has a name or a password in it, which would be shown in logs: leave them out.",
    ],
    ['400', status(400), `Your receiver refused it: ${QUESTIONS}`],
    ['401', status(401), `Your receiver refused it: ${QUESTIONS}`],
    [
      '401 of a receiver of ours',
      status(401, {}, '{"outcome":"unauthenticated"}'),
      `Your receiver refused the signature: ${QUESTIONS} Its log has the code: signature_mismatch is the secret or the body, timestamp_… the clock.`,
    ],
    [
      '400 of a receiver of ours that saw no signature',
      status(400, {}, '{"outcome":"malformed"}'),
      'Your receiver found no valid signature header: does a proxy drop it, or does signature.header name another one?',
    ],
    [
      '400 of a receiver of ours that did not get all of it',
      status(400, {}, '{"outcome":"incomplete"}'),
      'Your receiver did not get the whole body: does a proxy or a timeout cut it off?',
    ],
    [
      '403 of a login',
      status(403, {}, '<p>Log in</p>'),
      `403 from something other than tix-webhooks: does a login, a CSRF check or a proxy stand in front of /hooks? If it is a receiver of your own: ${QUESTIONS}`,
    ],
    ['404', status(404), 'Nothing is served at /hooks: is that the path of your receiver?'],
    ['405', status(405), 'Nothing accepts a POST at /hooks: webhooks are POST requests.'],
    ['410', status(410), 'Your receiver answers that it is gone; the service retries all the same.'],
    [
      '413',
      status(413),
      'Your receiver does not accept a body of this size: is the limit of its body parser too low?',
    ],
    ['429', status(429), 'Your receiver limits its rate; a Retry-After is respected.'],
    ['another 4xx', status(418), 'Your receiver refused it with 418: its log has the reason.'],
    ['500', status(500), 'Your receiver failed with 500: its log has the reason.'],
    [
      '500 with words',
      status(500, {}, 'ECONNREFUSED db:5432'),
      'Your receiver failed with 500: “ECONNREFUSED db:5432”.',
    ],
    [
      '500 of ours',
      status(500, {}, '{"outcome":"failed"}'),
      'Your receiver failed with 500: its log has the reason.',
    ],
    ['503', status(503), 'Your receiver asks for a retry later: its log has the reason.'],
    [
      '503 of RetryLater',
      status(503, {}, '{"outcome":"retry_later"}'),
      'Your handler threw RetryLater: the service retries after the time that it asked for.',
    ],
    [
      '503 of an event in flight',
      status(503, {}, '{"outcome":"in_flight"}'),
      'Another delivery of the same event is being handled: the service retries.',
    ],
    [
      '503 of a drain, or of a store',
      status(503, {}, '{"outcome":"unavailable"}'),
      'Your receiver is draining, or could not use its store: then its log has the reason.',
    ],
    [
      '200 of an event that is parked',
      status(200, {}, '{"outcome":"parked"}'),
      'Your receiver parked it: it is not handled, and the service does not retry it. Your log has the cause; once that is fixed, replay it: hooks.replay().',
    ],
  ])('%s', (_, result, hint) => {
    expect(hintFor(TRIED, result)).toBe(hint)
  })

  test('every status and error, in a sentence', () => {
    for (let code = 100; code < 600; code++) {
      const hint = hintFor(TRIED, status(code))
      if (code < 200 || code > 299) expect(hint).toMatch(/\.$|\?$/)
    }
  })
})

test("a redirect is held to the sandbox's own rules about addresses", () => {
  const redirect = status(302, { location: 'http://8.8.8.8/hooks' })
  expect(hintFor(TRIED, redirect)).toBe(
    "Redirects are not followed: set the endpoint's URL to http://8.8.8.8/hooks.",
  )
  expect(hintFor({ ...TRIED, checkUrl: checkDestination }, redirect)).toMatch(
    /cannot be the endpoint's URL\. 8\.8\.8\.8 is a public address, .* --allow-public/,
  )
})

test('a secret is shown by its last four characters, and a short one not at all', () => {
  for (let code = 300; code < 600; code++) {
    const hint = hintFor({ ...TRIED, secrets: ['whsec_quite_secret_abcd', 'short'] }, status(code)) ?? ''
    expect(hint).not.toMatch(/secret_|short|whsec/)
  }
  expect(hintFor({ ...TRIED, secrets: ['short'] }, status(401))).toContain('ends in …, does')
})

test('a hint quotes no secret that the answer has', () => {
  const secret = 'whsec_test_very_long/12345'
  const tried = { url: 'http://127.0.0.1:3000/hooks', secrets: [secret], timeoutMs: 1000 }
  const hints = [
    hintFor(tried, status(500, {}, `secret=${secret}`)),
    hintFor(tried, status(302, { location: `/x?s=${encodeURIComponent(secret)}` })),
  ]
  expect(hints).toEqual([
    'Your receiver failed with 500: “secret=…2345”.',
    "Redirects are not followed: set the endpoint's URL to http://127.0.0.1:3000/x?s=…2345.",
  ])
})
