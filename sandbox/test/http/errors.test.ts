/** @module-tag slow */
import { describe, expect, test } from 'vitest'
import { API_ERROR_CODES } from '../../http/errors.js'
import { apiFixture, createWith } from '../support/api-fixture.js'
import { ERROR_CAUSES } from '../support/error-causes.js'

test('every error of the API is caused here, or in another test', () => {
  const caused = new Set(ERROR_CAUSES.map(([code]) => code))
  expect(API_ERROR_CODES.filter((code) => !caused.has(code)).sort()).toEqual([
    // Needs a limit: tested below.
    'rate_limited',
    // Needs 100,000 events: tested in the domain.
    'sandbox_full',
  ])
})

const TYPES: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  403: 'permission_error',
  409: 'state_error',
  500: 'api_error',
}
/** The problem, and its fix. */
const sentence = expect.stringMatching(/^.{15,}[.?]$/s)

test.each(ERROR_CAUSES)(
  '[N9] [N10] [N11] [N12] [N13] [N14] [N16] [N17] [N18] [N19] [N20] [N22] [N26] %s is answered with %i',
  async (code, status, cause) => {
    const sandbox = apiFixture()
    const answer = await cause(sandbox)
    expect(answer.json()).toMatchObject({
      error: { type: TYPES[status] ?? 'invalid_request_error', code, message: sentence },
    })
    expect([answer.status, answer.headers.get('content-type')]).toEqual([status, 'application/json'])
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

test('[N2] [N3] a refused key is challenged', async () => {
  for (const key of [null, 'nonsense']) {
    const { headers } = await apiFixture().call('GET', '/v2/events', { key })
    expect(headers.get('www-authenticate')).toBe('Bearer')
  }
})

test.each([
  ['DELETE', '/v2/events', 'POST, GET, HEAD'],
  ['PUT', '/v2/events/evt_x', 'GET, HEAD, PATCH'],
  ['GET', '/v2/events/evt_x/publish', 'POST'],
  ['OPTIONS', '/v2/venues', 'GET, HEAD'],
  ['GET', '/v2/sandbox/orders', 'POST'],
  ['PROPFIND', '/v2/venues', 'GET, HEAD'],
])('[N18] %s %s is answered with the allowed methods', async (method, path, allow) => {
  const answer = await apiFixture().call(method, path)
  expect([answer.status, answer.code, answer.headers.get('allow')]).toEqual([
    405,
    'method_not_allowed',
    allow,
  ])
})

test('[N22] a fault of the sandbox is reported, and nothing of it answered', async () => {
  const sandbox = apiFixture()
  const cause = new Error('the secret cause')
  sandbox.service.accounts.test.retrieveEvent = () => {
    throw cause
  }
  const { status, text } = await sandbox.call('GET', '/v2/events/evt_x')
  expect(status).toBe(500)
  expect(text).not.toContain('secret')
  expect(sandbox.failures).toEqual([cause])
})

describe('a rate limit', () => {
  test('[N21] is not there unless it is set', async () => {
    const sandbox = apiFixture()
    for (let index = 0; index < 200; index++)
      expect((await sandbox.call('GET', '/v2/venues')).status).toBe(200)
  })

  test('[N21] refuses what is more on /v2, with retry-after, and nothing elsewhere', async () => {
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
})

test('[N27] lenient, what is not known is left out, in the query too', async () => {
  const sandbox = apiFixture({ lenient: true })
  expect((await createWith(sandbox, { currency: 'EUR' })).status).toBe(201)
  expect((await sandbox.call('GET', '/v2/events?expand=venue')).status).toBe(200)
  const { id } = await sandbox.create()
  expect((await sandbox.call('GET', `/v2/events/${id}?expand=venue`)).status).toBe(200)
})
