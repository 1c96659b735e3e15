import { describe, expect, test } from 'vitest'
import { BASE_URL, EVENT, httpSandbox } from '../support/http-sandbox.js'

describe('headers, bodies and methods without effect', () => {
  test('the body of a GET is not read', async () => {
    const sandbox = httpSandbox()
    const request = new Request(`${BASE_URL}/v2/events`, {
      headers: {
        authorization: 'bearer sk_test_x',
        'content-type': 'text/plain',
        'content-length': '9999999',
      },
    })
    expect((await sandbox.app.fetch(request)).status).toBe(200)
  })

  test('[N24] Idempotency-Key is ignored, and the log says so', async () => {
    const sandbox = httpSandbox()
    const headers = { 'idempotency-key': 'order-7' }
    const first = await sandbox.call('POST', '/v2/events', { headers, body: EVENT })
    const again = await sandbox.call('POST', '/v2/events', { headers, body: { ...EVENT, title: 'Another' } })
    expect([first.status, again.status]).toEqual([201, 201])
    expect(first.json().id).not.toBe(again.json().id)
    const { data } = await sandbox.read<{ data: object[] }>('/_sandbox/requests')
    expect(data).toMatchObject([
      { note: 'Idempotency-Key is ignored' },
      { note: 'Idempotency-Key is ignored' },
    ])
  })

  test('[N25] pages of other origins get no CORS headers', async () => {
    const sandbox = httpSandbox()
    const headers = { origin: 'https://shop.example', 'access-control-request-method': 'POST' }
    for (const method of ['OPTIONS', 'GET', 'POST']) {
      const { headers: answered } = await sandbox.call(method, '/v2/events', { headers })
      expect([...answered.keys()].filter((name) => name.startsWith('access-control'))).toEqual([])
    }
  })

  test('[N23] each answer has an id of its own, which is in the log', async () => {
    const sandbox = httpSandbox()
    const answers = [
      await sandbox.call('GET', '/v2/events'),
      await sandbox.call('GET', '/v2/events/evt_none'),
      await sandbox.call('GET', '/v2/none', { key: null }),
    ]
    const ids = answers.map(({ headers }) => headers.get('x-request-id'))
    expect(new Set(ids).size).toBe(3)
    for (const [index, { text }] of answers.entries()) expect(text).not.toContain(ids[index])
    const { data } = await sandbox.read<{ data: { id: string }[] }>('/_sandbox/requests')
    expect(data.map(({ id }) => id)).toEqual(ids.reverse())
    for (const path of ['/_sandbox', '/openapi.json', '/e/none', '/none']) {
      expect((await sandbox.call('GET', path)).headers.get('x-request-id')).toMatch(/^req_/)
    }
  })

  test('GET /openapi.json needs no key, and says where the service is', async () => {
    const sandbox = httpSandbox({ url: () => 'http://127.0.0.1:4123' })
    const { status, json } = await sandbox.call('GET', '/openapi.json')
    expect(status).toBe(200)
    expect(json()).toMatchObject({ openapi: '3.1.0', servers: [{ url: 'http://127.0.0.1:4123' }] })
  })
})
