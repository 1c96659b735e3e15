/** @module-tag slow */
import { describe, expect, test } from 'vitest'
import { apiFixture } from '../../support/api-fixture.js'
import { type HttpSandbox, httpSandbox, LIVE_KEY } from '../../support/http-sandbox.js'

/** Every operation of the API. */
const OPERATIONS = [
  ['POST', '/v2/events'],
  ['GET', '/v2/events'],
  ['GET', '/v2/events/evt_x'],
  ['PATCH', '/v2/events/evt_x'],
  ['POST', '/v2/events/evt_x/publish'],
  ['POST', '/v2/events/evt_x/cancel'],
  ['POST', '/v2/events/evt_x/reschedule'],
  ['GET', '/v2/venues'],
  ['POST', '/v2/sandbox/orders'],
] as const

describe.each(OPERATIONS)('%s %s', (method, path) => {
  const bodyOf = { ...(method !== 'GET' && { body: {} }) }

  test('[S48] [N2] needs a key', async () => {
    const answer = await httpSandbox().call(method, path, { key: null, ...bodyOf })
    expect([answer.status, answer.code]).toEqual([401, 'api_key_missing'])
    expect(answer.headers.get('www-authenticate')).toBe('Bearer')
  })

  test('[N3] refuses what is no key', async () => {
    const answer = await httpSandbox().call(method, path, { key: 'whsec_1', ...bodyOf })
    expect([answer.status, answer.code]).toEqual([401, 'api_key_invalid'])
  })

  test('[N4] refuses a key that is not listed', async () => {
    const sandbox = httpSandbox({ keys: ['sk_test_other'] })
    expect((await sandbox.call(method, path, bodyOf)).code).toBe('api_key_invalid')
    expect((await sandbox.call(method, path, { key: 'sk_test_other', ...bodyOf })).status).not.toBe(401)
  })

  test('[S80] [N1] takes the scheme in any case', async () => {
    const headers = { authorization: 'BEARER sk_test_x' }
    expect((await httpSandbox().call(method, path, { key: null, headers, ...bodyOf })).status).not.toBe(401)
  })

  test('[N138] refuses a foreign host, before it looks at the key', async () => {
    const answer = await httpSandbox().call(method, path, {
      key: null,
      headers: { host: 'evil.example' },
      ...bodyOf,
    })
    expect([answer.status, answer.code]).toEqual([403, 'host_refused'])
  })
})

test.each(['/v2/sandbox/orders', '/v2/sandbox/none', '/v2/sandbox'])(
  '[S83] [N6] %s refuses a live key',
  async (path) => {
    const sandbox = httpSandbox()
    const live = await sandbox.call('POST', path, { key: LIVE_KEY, body: {} })
    expect([live.status, live.code]).toEqual([403, 'test_key_required'])
    expect((await sandbox.call('POST', path, { body: {} })).status).not.toBe(403)
  },
)

test('[S4] [S82] [N5] [N7] test and live are two accounts, and a live key is warned of', async () => {
  const sandbox = apiFixture()
  await sandbox.create()
  const listed = async (key: string) =>
    (await sandbox.call('GET', '/v2/events', { key })).json<{ data: object[] }>().data.length
  expect([await listed('sk_test_another'), await listed(LIVE_KEY), await listed(LIVE_KEY)]).toEqual([1, 0, 0])
  expect(sandbox.warnings).toEqual([expect.stringContaining('y8z9')])
})

test('[N8] the log keeps the end of a key, and of a key that is refused nothing', async () => {
  const sandbox = httpSandbox({ keys: ['sk_test_listed0001'] })
  await sandbox.call('GET', '/v2/venues', { key: 'sk_test_listed0001' })
  await sandbox.call('GET', '/v2/venues', { key: 'sk_live_notlisted0002' })
  await sandbox.call('GET', '/v2/venues?api_key=sk_test_listed0001', { key: null })
  const { text } = await sandbox.call('GET', '/_sandbox/requests')
  expect(JSON.parse(text).data).toEqual([
    {
      id: expect.stringMatching(/^req_/),
      at: '2026-11-20T11:24:00.000Z',
      method: 'GET',
      path: '/v2/venues?api_key=sk_test_…',
      mode: null,
      key_end: null,
      status: 401,
      error_code: 'api_key_missing',
      error_message: 'There is no API key. Send the header "authorization: bearer sk_test_…".',
    },
    expect.objectContaining({ mode: null, key_end: null, error_code: 'api_key_invalid' }),
    expect.objectContaining({ mode: 'test', key_end: '0001', status: 200 }),
  ])
  expect(text).not.toMatch(/listed/)
})

/** Everything else that is served, and how. */
const ROUTES = [
  ['GET', '/'],
  ['GET', '/_sandbox/page.js'],
  ['GET', '/_sandbox/page.css'],
  ['GET', '/openapi.json'],
  ['GET', '/e/night-of-lights'],
  ['POST', '/e/night-of-lights'],
  ['GET', '/wallet/tik_x'],
  ['GET', '/embed.js'],
  ['GET', '/_sandbox'],
  ['GET', '/_sandbox/clock'],
  ['POST', '/_sandbox/clock'],
  ['GET', '/_sandbox/endpoints'],
  ['POST', '/_sandbox/endpoints'],
  ['GET', '/_sandbox/endpoints/we_x'],
  ['PATCH', '/_sandbox/endpoints/we_x'],
  ['DELETE', '/_sandbox/endpoints/we_x'],
  ['POST', '/_sandbox/endpoints/we_x/rotate'],
  ['GET', '/_sandbox/deliveries'],
  ['GET', '/_sandbox/deliveries/dlv_x'],
  ['GET', '/_sandbox/deliveries/dlv_x/plan'],
  ['GET', '/_sandbox/deliveries/dlv_x/curl'],
  ['GET', '/_sandbox/deliveries/dlv_x/attempts/att_x/curl'],
  ['GET', '/_sandbox/deliveries/dlv_x/attempts/att_x/why'],
  ['POST', '/_sandbox/deliveries/dlv_x/resend'],
  ['POST', '/_sandbox/resend'],
  ['POST', '/_sandbox/trigger'],
  ['GET', '/_sandbox/scenarios'],
  ['GET', '/_sandbox/orders'],
  ['POST', '/_sandbox/orders'],
  ['POST', '/_sandbox/events/evt_x/publish'],
  ['POST', '/_sandbox/events/evt_x/cancel'],
  ['POST', '/_sandbox/events/evt_x/reschedule'],
  ['GET', '/_sandbox/faults'],
  ['POST', '/_sandbox/faults'],
  ['DELETE', '/_sandbox/faults'],
  ['DELETE', '/_sandbox/faults/flt_x'],
  ['GET', '/_sandbox/requests'],
  ['GET', '/_sandbox/assumptions'],
  ['POST', '/_sandbox/reset'],
  ['POST', '/_sandbox/fill'],
  ['GET', '/_sandbox/state'],
  ['GET', '/_sandbox/stream'],
] as const
const WRITES = ROUTES.filter(([method]) => method !== 'GET')
const CONTROL_WRITES = WRITES.filter(([method, path]) => path.startsWith('/_sandbox') && method !== 'DELETE')

/** The right content type: with it, and without an origin, requests pass the checks, whatever their answer. */
const JSON_TYPE = { 'content-type': 'application/json' }

test('every route is in this table', () => {
  const served = httpSandbox().app.routes.filter(
    ({ method, path }) => method !== 'ALL' && !path.startsWith('/v2'),
  )
  const asPattern = (path: string) => new RegExp(`^${path.replaceAll(/:\w+|\*/g, '[^/]+')}$`)
  const missing = served.filter(
    (route) => !ROUTES.some(([method, path]) => method === route.method && asPattern(route.path).test(path)),
  )
  expect(missing.map(({ method, path }) => `${method} ${path}`)).toEqual([])
})

test.each(ROUTES)('[N138] %s %s refuses a foreign host', async (method, path) => {
  const sandbox = httpSandbox()
  const headers = { host: 'evil.example:4010', ...(method !== 'GET' && JSON_TYPE) }
  const answer = await sandbox.call(method, path, { headers })
  expect([answer.status, answer.code]).toEqual([403, 'host_refused'])
})

/** How much there is: whatever was refused has changed none of it. */
const sizeOf = ({ service }: HttpSandbox) => [
  service.accounts.test.counts(),
  service.engine.endpoints().length,
  service.clock.now(),
]

test.each(WRITES)('[N139] %s %s refuses a page of another origin', async (method, path) => {
  for (const origin of ['http://evil.example', 'null', 'http://127.0.0.1:3000', 'http://localhost:4010']) {
    const sandbox = httpSandbox()
    const before = sizeOf(sandbox)
    const answer = await sandbox.call(method, path, { headers: { ...JSON_TYPE, origin }, raw: '{}' })
    expect([answer.status, answer.code]).toEqual([403, 'origin_refused'])
    expect(sizeOf(sandbox)).toEqual(before)
  }
  const headers = { ...JSON_TYPE, origin: 'http://127.0.0.1:4010' }
  expect((await httpSandbox().call(method, path, { headers, raw: '{}' })).status).not.toBe(403)
})

test.each(CONTROL_WRITES)('[N139] %s %s refuses what a form can send', async (method, path) => {
  for (const type of [
    undefined,
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
  ]) {
    const sandbox = httpSandbox()
    const before = sizeOf(sandbox)
    const headers = type === undefined ? {} : { 'content-type': type }
    // An empty body is enough for a reset.
    for (const raw of ['{"freeze":true}', '']) {
      const answer = await sandbox.call(method, path, { raw: new Blob([raw]), headers })
      expect([answer.status, answer.code]).toEqual([415, 'unsupported_media_type'])
      expect(sizeOf(sandbox)).toEqual(before)
    }
  }
  expect((await httpSandbox().call(method, path, { headers: JSON_TYPE, raw: '{}' })).status).not.toBe(415)
})

test('[N138] a name that is allowed is taken, and its own pages are', async () => {
  const sandbox = httpSandbox({ allowHosts: ['sandbox.test'] })
  const headers = { host: 'sandbox.test:8080', origin: 'http://sandbox.test:8080' }
  expect((await sandbox.call('POST', '/_sandbox/clock', { headers, body: { freeze: true } })).status).toBe(
    200,
  )
})
