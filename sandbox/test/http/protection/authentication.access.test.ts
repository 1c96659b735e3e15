/** @module-tag slow */
import { expect, test } from 'vitest'
import { apiFixture, type HttpSandbox, httpSandbox, LIVE_KEY, told } from '../../support/http-sandbox.js'

/** Every route that is served, in or beside the API. */
function routes(isApi: boolean): (readonly [method: string, path: string])[] {
  const found = httpSandbox()
    .app.routes.filter(({ method, path }) => method !== 'ALL' && path.startsWith('/v2') === isApi)
    .map(({ method, path }) => [method, path.replaceAll(/:\w+/g, 'x')] as const)
  expect(found).toHaveLength(isApi ? 9 : 42)
  return found
}

test('[S48] [S80] [N1] [N2] [N3] [N4] [N138] each operation needs a key', async () => {
  const [any, listed] = [httpSandbox(), httpSandbox({ keys: ['sk_test_other'] })]
  const foreign = { host: 'evil.example' }
  for (const [method, path] of routes(true)) {
    const operation = `${method} ${path}`
    const body = { ...(method !== 'GET' && { body: {} }) }
    const missing = await any.call(method, path, { key: null, ...body })
    expect(told(missing), operation).toEqual([401, 'api_key_missing'])
    expect(missing.headers.get('www-authenticate'), operation).toBe('Bearer')
    const invalid = await any.call(method, path, { key: 'whsec_1', ...body })
    const unlisted = await listed.call(method, path, body)
    expect([invalid.code, unlisted.code], operation).toEqual(['api_key_invalid', 'api_key_invalid'])
    const elsewhere = await any.call(method, path, { key: null, headers: foreign, ...body })
    expect(told(elsewhere), operation).toEqual([403, 'host_refused'])

    const headers = { authorization: 'BEARER sk_test_x' }
    for (const accepted of [
      await any.call(method, path, { key: null, headers, ...body }),
      await listed.call(method, path, { key: 'sk_test_other', ...body }),
    ]) {
      expect(accepted.status, operation).not.toBe(401)
    }
  }
})

test.each(['/v2/sandbox/orders', '/v2/sandbox/none', '/v2/sandbox'])(
  '[S83] [N6] %s refuses a live key',
  async (path) => {
    const sandbox = httpSandbox()
    const live = await sandbox.call('POST', path, { key: LIVE_KEY, body: {} })
    expect(told(live)).toEqual([403, 'test_key_required'])
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

/** The right content type: with it, and without an origin, requests pass the checks, whatever their answer. */
const JSON_TYPE = { 'content-type': 'application/json' }

/** How much there is: a refused request changes none of it. */
const sizeOf = ({ service }: HttpSandbox) => [
  service.accounts.test.counts(),
  service.engine.endpoints().length,
  service.clock.now(),
]

test('[N138] [N139] each route refuses a foreign host, and each that writes a page of another origin', async () => {
  const sandbox = httpSandbox()
  const before = sizeOf(sandbox)
  for (const [method, path] of routes(false)) {
    const type = { ...(method !== 'GET' && JSON_TYPE) }
    const foreign = await sandbox.call(method, path, { headers: { host: 'evil.example:4010', ...type } })
    expect(told(foreign), `${method} ${path}`).toEqual([403, 'host_refused'])
    if (method === 'GET') continue
    for (const origin of ['http://evil.example', 'null', 'http://127.0.0.1:3000', 'http://localhost:4010']) {
      const answer = await sandbox.call(method, path, { headers: { ...JSON_TYPE, origin }, raw: '{}' })
      expect(told(answer), `${method} ${path} from ${origin}`).toEqual([403, 'origin_refused'])
    }
    expect(sizeOf(sandbox)).toEqual(before)
    const headers = { ...JSON_TYPE, origin: 'http://127.0.0.1:4010' }
    const own = await httpSandbox().call(method, path, { headers, raw: '{}' })
    expect(own.status, `${method} ${path}`).not.toBe(403)
  }
})

test('[N139] each route of the control that writes refuses what a form can send', async () => {
  const sandbox = httpSandbox()
  const before = sizeOf(sandbox)
  for (const [method, path] of routes(false)) {
    if (!path.startsWith('/_sandbox') || !['POST', 'PATCH'].includes(method)) continue
    for (const type of [
      '',
      'text/plain',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
    ]) {
      const headers = { ...(type !== '' && { 'content-type': type }) }
      // An empty body is enough for a reset.
      for (const raw of ['{"freeze":true}', '']) {
        const answer = await sandbox.call(method, path, { raw: new Blob([raw]), headers })
        expect(told(answer), `${method} ${path} as ${type}`).toEqual([415, 'unsupported_media_type'])
      }
    }
    expect(sizeOf(sandbox)).toEqual(before)
    const answer = await httpSandbox().call(method, path, { headers: JSON_TYPE, raw: '{}' })
    expect(answer.status, `${method} ${path}`).not.toBe(415)
  }
})

test('[N138] a name that is allowed is taken, and its own pages are', async () => {
  const sandbox = httpSandbox({ allowHosts: ['sandbox.test'] })
  const headers = { host: 'sandbox.test:8080', origin: 'http://sandbox.test:8080' }
  expect((await sandbox.call('POST', '/_sandbox/clock', { headers, body: { freeze: true } })).status).toBe(
    200,
  )
})
