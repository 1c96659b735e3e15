/** @module-tag slow */
import { expect, test } from 'vitest'
import { API_ERROR_CODES, type ErrorCode, statusOf } from '../../http/errors.js'
import { type Answer, type ApiFixture, apiFixture, createWith, LIVE_KEY } from '../support/http-sandbox.js'

type Cause = (sandbox: ApiFixture) => Promise<Answer>

const post =
  (headers: Record<string, string>, raw: string): Cause =>
  (s) =>
    s.call('POST', '/v2/events', { headers, raw })
const get =
  (path: string, key?: string | null): Cause =>
  (s) =>
    s.call('GET', path, { ...(key !== undefined && { key }) })
const create =
  (changes: object): Cause =>
  (s) =>
    createWith(s, changes)
/** The causes of errors of the API. */
const CAUSES: readonly (readonly [ErrorCode, status: number, Cause])[] = [
  ['parameter_missing', 400, create({ title: undefined })],
  ['parameter_invalid', 400, create({ title: 5 })],
  ['parameter_invalid', 400, get('/v2/events?limit=5&limit=6')],
  ['parameter_unknown', 400, create({ currency: 'EUR' })],
  ['parameter_unknown', 400, get('/v2/events?__proto__=1')],
  ['parameter_unknown', 400, get('/v2/events/evt_x?expand=venue')],
  ['parameter_conflict', 400, create({ venue_id: 'ven_x' })],
  ['resource_missing', 404, get('/v2/events/evt_none')],
  ['resource_missing', 404, get('/v2/events/%E0%A4%A')],
  ['resource_missing', 400, get('/v2/events?starting_after=evt_none')],
  ['resource_missing', 400, (s) => s.order({ changes: { event_id: 'evt_none' } })],
  ['image_upload_not_shown', 400, create({ image: 'data:image/png;base64,AA' })],
  ['image_upload_not_shown', 400, post({ 'content-type': 'multipart/form-data; boundary=x' }, '--x--')],
  ['invalid_json', 400, post({ 'content-type': 'application/json' }, '{')],
  ['api_key_missing', 401, get('/v2/events', null)],
  ['api_key_invalid', 401, get('/v2/events', 'pk_1')],
  ['test_key_required', 403, (s) => s.call('POST', '/v2/sandbox/orders', { key: LIVE_KEY, body: {} })],
  ['host_refused', 403, (s) => s.call('GET', '/v2/events', { headers: { host: 'evil.example' } })],
  ['unknown_url', 404, get('/v2/events/')],
  ['unknown_url', 404, get('/v2')],
  ['method_not_allowed', 405, (s) => s.call('DELETE', '/v2/events/evt_x')],
  ['event_not_on_sale', 409, (s) => s.order({ publish: false })],
  ['body_too_large', 413, create({ description_md: 'x'.repeat(1024 * 1024) })],
  ['unsupported_media_type', 415, post({ 'content-type': 'text/plain' }, '{}')],
  [
    'internal',
    500,
    (s) => {
      s.service.accounts.test.listVenues = () => {
        throw FAULT
      }
      return s.call('GET', '/v2/venues')
    },
  ],
]

/** A fault of our own, inside the domain. */
const FAULT = new Error('the secret cause')

/** The status of each refusal that the tests of the domain cause, but for 'rate_limited', which needs a limit: below. */
const REFUSALS: Readonly<Record<number, readonly string[]>> = {
  400: [
    ...['title_contains_html', 'ends_at_before_doors_at', 'on_sale_after_end', 'duplicate_tier_name'],
    ...['use_reschedule', 'doors_at_unchanged', 'doors_at_in_past'],
  ],
  409: [
    ...['event_already_published', 'event_already_cancelled', 'event_cancelled', 'event_past', 'event_ended'],
    ...['event_sold_out', 'tier_sold_out', 'sandbox_full'],
  ],
  429: ['rate_limited'],
}

test('every other error of the API has its status', () => {
  const caused = new Set(CAUSES.map(([code]) => code))
  const others = API_ERROR_CODES.filter((code) => !caused.has(code))
  const expected = Object.entries(REFUSALS).flatMap(([status, codes]) =>
    codes.map((code) => `${status} ${code}`),
  )
  expect(others.map((code) => `${statusOf(code)} ${code}`).sort()).toEqual(expected.sort())
})

const TYPES: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  403: 'permission_error',
  409: 'state_error',
  500: 'api_error',
}

test.each(CAUSES)(
  '[N9] [N10] [N11] [N12] [N13] [N14] [N16] [N17] [N18] [N19] [N20] [N22] [N26] %s is answered with %i',
  async (code, status, cause) => {
    const sandbox = apiFixture()
    const answer = await cause(sandbox)
    expect(answer.json()).toMatchObject({
      error: {
        type: TYPES[status] ?? 'invalid_request_error',
        code,
        message: expect.stringMatching(/^.{15,}[.?]$/s),
      },
    })
    expect([answer.status, answer.headers.get('content-type')]).toEqual([status, 'application/json'])
    expect(answer.text).not.toContain('secret')
    expect(sandbox.failures).toEqual(status === 500 ? [FAULT] : [])
    const [logged] = (await sandbox.read<{ data: object[] }>('/_sandbox/requests')).data
    expect(logged).toMatchObject({ status, error_code: code })
  },
)

test('[N15] the first fault is the message, and all of them are listed', async () => {
  const answer = await apiFixture().call('POST', '/v2/events', { body: { tittle: 'x', tickets: [] } })
  const { error } = answer.json<{
    error: { param: string; message: string; errors: { code: string; param: string }[] }
  }>()
  expect(error.errors.length).toBeGreaterThan(3)
  expect(error.errors[0]).toMatchObject({ param: error.param, message: error.message })
  expect(error.errors.map(({ code, param }) => `${code} ${param}`)).toEqual(
    expect.arrayContaining([
      'parameter_unknown tittle',
      'parameter_missing title',
      'parameter_invalid tickets',
    ]),
  )
})

test.each([
  ['DELETE', '/v2/events', 'POST, GET, HEAD'],
  ['GET', '/v2/events/evt_x/publish', 'POST'],
  ['OPTIONS', '/v2/venues', 'GET, HEAD'],
])('[N18] %s %s is answered with the allowed methods', async (method, path, allow) => {
  const answer = await apiFixture().call(method, path)
  expect([answer.status, answer.code, answer.headers.get('allow')]).toEqual([
    405,
    'method_not_allowed',
    allow,
  ])
})

test('[N21] a rate limit refuses what is more on /v2, with retry-after, and nothing elsewhere', async () => {
  let now = 0
  const sandbox = apiFixture({ rateLimit: { requests: 2, perSeconds: 3 }, realNow: () => now })
  const statuses = async () => {
    const answers = [await sandbox.call('GET', '/v2/venues'), await sandbox.call('GET', '/v2/none')]
    return [...answers, await sandbox.call('GET', '/v2/venues', { key: null })]
  }
  const [, , refused] = await statuses()
  expect([refused?.status, refused?.code, refused?.headers.get('retry-after')]).toEqual([
    429,
    'rate_limited',
    '3',
  ])
  expect(refused?.json<{ error: object }>().error).toMatchObject({ type: 'rate_limit_error' })
  for (const path of ['/_sandbox', '/openapi.json'])
    expect((await sandbox.call('GET', path)).status).toBe(200)
  now = 3000
  expect((await statuses()).map(({ status }) => status)).toEqual([200, 404, 429])
})

test('[N27] lenient, what is not known is left out, in the query too', async () => {
  const sandbox = apiFixture({ lenient: true })
  expect((await createWith(sandbox, { currency: 'EUR' })).status).toBe(201)
  expect((await sandbox.call('GET', '/v2/events?expand=venue')).status).toBe(200)
  const { id } = await sandbox.create()
  expect((await sandbox.call('GET', `/v2/events/${id}?expand=venue`)).status).toBe(200)
})
