import { expect, test } from 'vitest'
import { BASE_URL, EVENT, type HttpSandbox, httpSandbox, LIVE_KEY, NOW } from '../support/http-sandbox.js'

interface Created {
  title: string
  id: string
  slug: string
  venue_id: string
  tickets: { id: string }[]
}

async function created(sandbox: HttpSandbox, changes: object = {}): Promise<Created> {
  const answer = await sandbox.call('POST', '/v2/events', { body: { ...EVENT, ...changes } })
  expect(answer.status).toBe(201)
  return answer.json<Created>()
}

async function published(sandbox: HttpSandbox): Promise<Created> {
  const event = await created(sandbox)
  await sandbox.call('POST', `/v2/events/${event.id}/publish`)
  return event
}

const id = (prefix: string) => expect.stringMatching(new RegExp(`^${prefix}_[0-9A-Za-z]{20}$`))

test('[S37] [S49] [S69] [N30] POST /v2/events creates a draft, with its tiers', async () => {
  const sandbox = httpSandbox()
  const { status, headers, json } = await sandbox.call('POST', '/v2/events', { body: EVENT })
  expect(status).toBe(201)
  expect(headers.get('content-type')).toBe('application/json')
  expect(json()).toEqual({
    id: id('evt'),
    title: EVENT.title,
    slug: expect.stringContaining('night-of-lights-'),
    url: expect.stringContaining(`${BASE_URL}/e/night-of-lights-`),
    status: 'draft',
    venue_id: id('ven'),
    doors_at: '2026-12-01T19:00:00+01:00',
    ends_at: '2026-12-01T23:00:00+01:00',
    description_md: null,
    image_url: null,
    capacity: 12,
    sold: 0,
    gross_cents: 0,
    refund_policy: 'refundable_24h',
    transferable: true,
    created_at: NOW,
    updated_at: NOW,
    tickets: [
      { id: id('tkt'), name: 'standing', price_cents: 2500, quantity: 10 },
      { id: id('tkt'), name: 'seat', price_cents: 4000, quantity: 2 },
    ],
  })
})

test('[S50] [N57] [N66] GET /v2/events lists them, the newest first', async () => {
  const sandbox = httpSandbox()
  const events = [await created(sandbox), await created(sandbox), await created(sandbox)]
  const ids = events.map(({ id }) => id).reverse()
  const answer = await sandbox.call('GET', '/v2/events?limit=2')
  expect(answer.status).toBe(200)
  const list = answer.json<{ data: { id: string }[] }>()
  expect(list).toMatchObject({ object: 'list', url: '/v2/events', has_more: true })
  expect(list.data.map(({ id }) => id)).toEqual(ids.slice(0, 2))

  const rest = await sandbox.read<typeof list>(`/v2/events?limit=2&starting_after=${ids[1]}`)
  expect(rest).toMatchObject({ has_more: false })
  expect(rest.data.map(({ id }) => id)).toEqual(ids.slice(2))
})

test('[S51] [N38] GET /v2/events/{id} returns the event, without its tiers', async () => {
  const sandbox = httpSandbox()
  const { tickets: _, ...event } = await created(sandbox)
  const answer = await sandbox.call('GET', `/v2/events/${event.id}`)
  expect([answer.status, answer.json()]).toEqual([200, event])
})

test('[S52] PATCH /v2/events/{id} updates it', async () => {
  const sandbox = httpSandbox()
  const { tickets: _, ...event } = await created(sandbox)
  const answer = await sandbox.call('PATCH', `/v2/events/${event.id}`, { body: { title: 'Day of lights' } })
  expect([answer.status, answer.json()]).toEqual([200, { ...event, title: 'Day of lights' }])
})

test.each([
  ['publish', undefined, { status: 'on_sale' }],
  ['cancel', undefined, { status: 'cancelled' }],
  [
    'reschedule',
    { doors_at: '2026-12-02T20:00:00+01:00' },
    { status: 'draft', doors_at: '2026-12-02T20:00:00+01:00', ends_at: '2026-12-03T00:00:00+01:00' },
  ],
])(
  '[S53] [S54] [S55] POST /v2/events/{id}/%s answers the event as it is then',
  async (action, body, changes) => {
    const sandbox = httpSandbox()
    const { tickets: _, ...event } = await created(sandbox)
    const answer = await sandbox.call('POST', `/v2/events/${event.id}/${action}`, { body })
    expect([answer.status, answer.json()]).toEqual([200, { ...event, ...changes }])
  },
)

test('[S56] [N42] GET /v2/venues lists venues', async () => {
  const sandbox = httpSandbox()
  await created(sandbox)
  const { status, json } = await sandbox.call('GET', '/v2/venues')
  const list = json<{ data: object[] }>()
  expect(status).toBe(200)
  expect(list).toMatchObject({ object: 'list', url: '/v2/venues', has_more: false })
  expect(list.data).toHaveLength(4)
  expect(list.data[0]).toEqual({
    id: id('ven'),
    name: 'Old mill',
    address: null,
    city: null,
    country: null,
    timezone: 'UTC',
    capacity: null,
    created_at: NOW,
  })
})

test('[S57] [S33] [N30] [N53] POST /v2/sandbox/orders fakes an order, with a ticket for each unit', async () => {
  const sandbox = httpSandbox()
  const event = await published(sandbox)
  const body = { event_id: event.id, ticket_tier_id: event.tickets[0]?.id, quantity: 2 }
  const answer = await sandbox.call('POST', '/v2/sandbox/orders', { body })
  const ticket = {
    id: id('tik'),
    tier: 'standing',
    scan_token: expect.any(String),
    wallet_pass_url: expect.stringContaining(`${BASE_URL}/`),
  }
  expect([answer.status, answer.json()]).toEqual([
    201,
    {
      order: { id: id('ord'), event_id: event.id, total_cents: 5000, buyer_email: 'buyer1@example.com' },
      tickets: [ticket, ticket],
    },
  ])
})

test('[N5] an id of the other account is of nothing', async () => {
  const sandbox = httpSandbox()
  const { id, venue_id, title } = await published(sandbox)
  for (const [method, action, body] of [
    ['GET', ''],
    ['PATCH', '', {}],
    ['POST', '/publish'],
    ['POST', '/cancel'],
    ['POST', '/reschedule', { doors_at: '2026-12-02T20:00:00+01:00' }],
  ] as const) {
    const answer = await sandbox.call(method, `/v2/events/${id}${action}`, { key: LIVE_KEY, body })
    expect([answer.status, answer.code]).toEqual([404, 'resource_missing'])
  }
  const { venue: _venue, ...rest } = EVENT
  const used = await sandbox.call('POST', '/v2/events', { key: LIVE_KEY, body: { ...rest, venue_id } })
  expect([used.status, used.code]).toEqual([400, 'resource_missing'])
  const live = (await sandbox.call('GET', '/v2/events', { key: LIVE_KEY })).json()
  expect(live).toMatchObject({ data: [] })
  expect(sandbox.service.accounts.test.retrieveEvent(id)).toMatchObject({
    title,
    status: 'on_sale',
  })
})
