import { expect, test } from 'vitest'
import { apiFixture, BASE_URL, EVENT, httpSandbox, LIVE_KEY, told } from '../support/http-sandbox.js'

const id = (prefix: string) => expect.stringMatching(new RegExp(`^${prefix}_[0-9A-Za-z]{20}$`))

test('[S50] [N57] [N60] [N66] GET /v2/events lists them, the newest first', async () => {
  const sandbox = apiFixture()
  const ids = [await sandbox.create(), await sandbox.create(), await sandbox.create()].map(({ id }) => id)
  const [last, middle, first] = ids.reverse()
  const list = { object: 'list', url: '/v2/events' }
  expect(await sandbox.read('/v2/events?limit=2')).toMatchObject({
    ...list,
    has_more: true,
    data: [{ id: last }, { id: middle }],
  })
  expect(await sandbox.read(`/v2/events?limit=2&starting_after=${middle}`)).toMatchObject({
    ...list,
    has_more: false,
    data: [{ id: first }],
  })
})

test.each([
  ['GET', '', undefined, {}],
  ['PATCH', '', { title: 'Day of lights' }, { title: 'Day of lights' }],
  ['POST', '/publish', undefined, { status: 'on_sale' }],
  ['POST', '/cancel', undefined, { status: 'cancelled' }],
  [
    'POST',
    '/reschedule',
    { doors_at: '2026-12-02T20:00:00+01:00' },
    { doors_at: '2026-12-02T20:00:00+01:00', ends_at: '2026-12-03T00:00:00+01:00' },
  ],
])(
  '[S51] [S52] [S53] [S54] [S55] [N38] %s /v2/events/{id}%s answers the event as it is then, without its tiers',
  async (method, action, body, changes) => {
    const sandbox = apiFixture()
    const created = await sandbox.create()
    const { tickets: _, ...event } = created
    const answer = await sandbox.call(method, `/v2/events/${event.id}${action}`, { body })
    expect([answer.status, answer.json()]).toEqual([200, { ...event, ...changes }])
  },
)

test('[S57] [S33] [N30] [N53] POST /v2/sandbox/orders fakes an order, with a ticket for each unit', async () => {
  const answer = await apiFixture().order({ quantity: 2 })
  const ticket = {
    id: id('tik'),
    tier: 'seat',
    scan_token: expect.any(String),
    wallet_pass_url: expect.stringContaining(`${BASE_URL}/`),
  }
  expect([answer.status, answer.json()]).toEqual([
    201,
    {
      order: { id: id('ord'), event_id: id('evt'), total_cents: 8000, buyer_email: 'buyer1@example.com' },
      tickets: [ticket, ticket],
    },
  ])
})

test('[N5] an id of the other account is of nothing', async () => {
  const sandbox = apiFixture()
  const { id } = await sandbox.create()
  const before = sandbox.service.accounts.test.retrieveEvent(id)
  for (const [method, action, body] of [
    ['GET', ''],
    ['PATCH', '', {}],
    ['POST', '/publish'],
    ['POST', '/cancel'],
    ['POST', '/reschedule', { doors_at: '2026-12-02T20:00:00+01:00' }],
  ] as const) {
    const answer = await sandbox.call(method, `/v2/events/${id}${action}`, { key: LIVE_KEY, body })
    expect(told(answer)).toEqual([404, 'resource_missing'])
  }
  const { venue: _, ...rest } = EVENT
  const body = { ...rest, venue_id: before.venue_id }
  const used = await sandbox.call('POST', '/v2/events', { key: LIVE_KEY, body })
  expect(told(used)).toEqual([400, 'resource_missing'])
  const live = await sandbox.call('GET', '/v2/events', { key: LIVE_KEY })
  expect(live.json()).toMatchObject({ data: [] })
  expect(sandbox.service.accounts.test.retrieveEvent(id)).toEqual(before)
})

test('the body of a GET is not read', async () => {
  const headers = {
    authorization: 'bearer sk_test_x',
    'content-type': 'text/plain',
    'content-length': '9999999',
  }
  const answer = await httpSandbox().app.fetch(new Request(`${BASE_URL}/v2/events`, { headers }))
  expect(answer.status).toBe(200)
})

test('[N24] Idempotency-Key is ignored, and the log says so', async () => {
  const sandbox = httpSandbox()
  const create = () =>
    sandbox.call('POST', '/v2/events', { headers: { 'idempotency-key': 'order-7' }, body: EVENT })
  const [first, again] = [await create(), await create()]
  expect([first.status, again.status]).toEqual([201, 201])
  expect(first.json().id).not.toBe(again.json().id)
  const note = 'Idempotency-Key is ignored'
  expect(await sandbox.read('/_sandbox/requests')).toMatchObject({ data: [{ note }, { note }] })
})

test('[N25] pages of other origins get no CORS headers', async () => {
  const headers = { origin: 'https://shop.example', 'access-control-request-method': 'POST' }
  for (const method of ['OPTIONS', 'GET', 'POST']) {
    const { headers: answered } = await httpSandbox().call(method, '/v2/events', { headers })
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
  const { data } = await sandbox.read<{ data: { id: string }[] }>('/_sandbox/requests')
  expect(data.map(({ id }) => id)).toEqual(ids.reverse())
  for (const path of ['/_sandbox', '/openapi.json', '/e/none', '/none']) {
    expect((await sandbox.call('GET', path)).headers.get('x-request-id')).toMatch(/^req_/)
  }
})

test('GET /openapi.json needs no key, and says where the service is', async () => {
  const document = await httpSandbox({ url: () => 'http://127.0.0.1:4123' }).read('/openapi.json')
  expect(document).toMatchObject({ openapi: '3.1.0', servers: [{ url: 'http://127.0.0.1:4123' }] })
})
