import { describe, expect, test } from 'vitest'
import { deferred } from '../../../../test/support/promises.js'
import { SCENARIOS } from '../../../../testing/index.js'
import { trigger } from '../../../service/trigger/trigger.js'
import {
  answered,
  apiFixture,
  BASE_URL,
  controlFixture,
  EVENT,
  HOOKS,
  httpSandbox,
  NOW,
  told,
} from '../../support/http-sandbox.js'

test('GET /_sandbox returns the version and the number of records', async () => {
  const sandbox = apiFixture({ assume: { 'network-error': 'final' } })
  sandbox.service.engine.createEndpoint({ url: HOOKS })
  await sandbox.order()
  await sandbox.service.clock.idle()
  expect(await sandbox.read('/_sandbox')).toEqual({
    name: 'tix-webhooks sandbox',
    version: '1.2.3',
    folder: '/nowhere',
    url: BASE_URL,
    clock: {
      now: NOW,
      frozen: true,
      next_at: expect.any(String),
      next_what: expect.stringMatching(/ ends$/),
      real_now: expect.any(String),
    },
    counts: { test: { events: 1, venues: 4, orders: 1 }, live: { events: 0, venues: 3, orders: 0 } },
    deliveries: { pending: 0, retrying: 0, delivered: 2, failed: 0, skipped: 0, passed: 0, wrong_answer: 0 },
    parked: 0,
    endpoints: 1,
    assumptions: { signature: 'dot', 'network-error': 'final', 'created-at': 'milliseconds' },
  })
})

test('[N29] [N132] GET /assumptions lists the choices, and GET /scenarios those of the testing kit', async () => {
  const sandbox = httpSandbox({ assume: { signature: 'body' } })
  const { data } = await sandbox.read<{ data: object[] }>('/_sandbox/assumptions')
  expect(data).toContainEqual({
    name: 'signature',
    says: expect.stringContaining('The signed bytes'),
    choices: { dot: expect.any(String), concat: expect.any(String), body: expect.any(String) },
    chosen: 'body',
  })
  expect(await sandbox.read('/_sandbox/scenarios')).toEqual({
    data: SCENARIOS.map(({ name, description, expect }) => ({ name, description, expect })),
  })
})

describe('GET /state', () => {
  test('has no more than the latest hundred of each', { tags: ['slow'] }, async () => {
    const sandbox = controlFixture()
    await trigger(sandbox.service, { kind: 'order.created', repeat: 120 })
    for (let index = 0; index < 110; index++) await sandbox.call('GET', '/v2/venues')
    const { deliveries, events, requests } = await sandbox.read<Record<string, object[]>>('/_sandbox/state')
    expect([deliveries?.length, events?.length, requests?.length]).toEqual([100, 100, 100])
  })

  test('?brief=true has the lines of a list: as many as are asked for, and what matches', async () => {
    const sandbox = controlFixture()
    sandbox.answerWith(() => ({ error: { code: 'ECONNREFUSED', message: 'connect ECONNREFUSED' } }))
    const { deliveries } = await trigger(sandbox.service, { kind: 'order.created', repeat: 3 })
    await sandbox.service.clock.idle()
    const state = async (query: string) => await sandbox.read(`/_sandbox/state?brief=true${query}`)
    expect(await state('&limit=1')).toMatchObject({
      matching: 3,
      next_attempt: {
        delivery: expect.stringMatching(/^dlv_/),
        at: expect.stringMatching(/^2026-11-20T11:24:0/),
      },
      deliveries: [
        {
          id: deliveries[2],
          type: 'order.created',
          status: 'retrying',
          first_at: NOW,
          attempts: 1,
          last: { attempt: expect.stringMatching(/^att_/), trigger: 'auto', error: 'ECONNREFUSED' },
        },
      ],
    })
    const second = { matching: 1, deliveries: [{ id: deliveries[1] }] }
    expect(await state(`&q=${deliveries[1]?.toUpperCase()}`)).toMatchObject(second)
    expect(await state('&q=BUYER2@')).toMatchObject(second)
    expect(await state('&status=delivered')).toMatchObject({ matching: 0, deliveries: [] })
  })

  test('[N44] [N52] has on_sale_at while it is scheduled, which the API has not', async () => {
    const sandbox = apiFixture()
    const scheduled = { on_sale_at: '2026-11-25T10:00:00+01:00' }
    const { id } = await sandbox.create(scheduled)
    const shown = async () => (await sandbox.read<{ events: object[] }>('/_sandbox/state')).events
    expect(await shown()).toMatchObject([{ id, ...scheduled }])
    expect(await sandbox.read(`/v2/events/${id}`)).not.toHaveProperty('on_sale_at')
    await sandbox.act(id, 'publish')
    expect(await shown()).toMatchObject([{ status: 'on_sale', on_sale_at: null }])
  })
})

describe('the clock', () => {
  const HOUR = 3_600_000

  test.each([
    ['72h', 72 * HOUR],
    [3600, HOUR],
    [0.5, 500],
  ])('[N123] [N127] advances %j', async (advance, ms) => {
    const sandbox = controlFixture({ realNow: () => Date.parse('2026-11-21T00:00:00.000Z') })
    const clock = {
      now: new Date(Date.parse(NOW) + ms).toISOString(),
      frozen: true,
      next_at: null,
      next_what: null,
      real_now: '2026-11-21T00:00:00.000Z',
    }
    expect((await sandbox.post('/clock', { advance })).json()).toEqual({
      ...clock,
      from: NOW,
      ran: 0,
      attempts: { delivered: 0, failed: 0 },
      deliveries: { delivered: 0, parked: 0, given_up: 0, retrying: 0, given_up_after: null },
    })
    expect(await sandbox.read('/_sandbox/clock')).toEqual(clock)
  })

  test('[N123] goes to a moment, and to what is next; runs, and stands still', async () => {
    const sandbox = apiFixture()
    const post = async (body: object) => (await sandbox.call('POST', '/_sandbox/clock', { body })).json()
    await sandbox.create({ on_sale_at: '2026-11-25T10:00:00Z' })
    expect(await post({ to: '2026-11-24T12:00:00+01:00' })).toMatchObject({
      now: '2026-11-24T11:00:00.000Z',
      next_at: '2026-11-25T10:00:00.000Z',
      next_what: expect.stringMatching(/^.+ goes on sale$/),
      ran: 0,
    })
    // After that the event ends.
    const next_at = '2026-12-01T22:00:00.000Z'
    expect(await post({ to: 'next' })).toMatchObject({ now: '2026-11-25T10:00:00.000Z', ran: 1, next_at })
    expect(await post({ run: true })).toMatchObject({ frozen: false })
    expect(await post({ freeze: true })).toMatchObject({ frozen: true })
  })

  test('goes no further than years of four digits, however often', async () => {
    const sandbox = controlFixture()
    const statuses = new Set<number>()
    for (let century = 0; century < 72; century++) {
      statuses.add((await sandbox.post('/clock', { advance: '36500d' })).status)
    }
    expect([...statuses]).toEqual([200, 400])
    expect((await sandbox.call('GET', '/_sandbox')).status).toBe(200)
  })

  test('[N125] does not count the attempts of another advance, which it waits for', async () => {
    const sandbox = controlFixture()
    sandbox.answerWith(() => answered(500))
    await sandbox.trigger()
    const advance = () => sandbox.post('/clock', { advance: '1m' })
    const told = (await Promise.all([advance(), advance()])).map((answer) => answer.json())
    expect(told).toMatchObject([
      { ran: 2, attempts: { delivered: 0, failed: 2 } },
      { ran: 0, attempts: { delivered: 0, failed: 0 } },
    ])
  })
})

test('[S86] [S87] [N107] [N119] an endpoint is created with a secret, changed, rotated, and removed once', async () => {
  const { call, read } = httpSandbox()
  const at = (method: string, path: string, body?: object) =>
    call(method, `/_sandbox/endpoints${path}`, { body })
  const answer = await at('POST', '', { url: HOOKS })
  const endpoint = {
    id: expect.stringMatching(/^we_[0-9A-Za-z]{20}$/),
    url: HOOKS,
    events: ['*'],
    secrets: [expect.stringMatching(/^whsec_\w+$/)],
    enabled: true,
    mode: 'test',
  }
  expect([answer.status, answer.json()]).toEqual([201, endpoint])
  const path = `/${answer.json().id}`
  const changes = { url: 'http://localhost:4000/', events: ['event.*'], enabled: false }
  for (const patch of [changes, {}]) {
    expect((await at('PATCH', path, patch)).json()).toEqual({ ...endpoint, ...changes })
  }
  expect(await read('/_sandbox/endpoints')).toEqual({ data: [{ ...endpoint, ...changes }] })

  const rotate = async (body: object) => (await at('POST', `${path}/rotate`, body)).json()
  await rotate({ secret: 'whsec_b' })
  expect(await rotate({})).toMatchObject({ secrets: [expect.stringMatching(/^whsec_/), 'whsec_b'] })
  expect(await rotate({ secret: 'whsec_d', keep_old: false })).toMatchObject({ secrets: ['whsec_d'] })

  expect((await at('DELETE', path)).status).toBe(204)
  expect(told(await at('DELETE', path))).toEqual([404, 'resource_missing'])
  const live = { url: HOOKS, mode: 'live', secret: 'whsec_mine' }
  expect((await at('POST', '', live)).json()).toMatchObject({ mode: 'live', secrets: ['whsec_mine'] })
})

describe('a trigger', () => {
  test('that waits is answered when the first attempts are, or its client disconnects', async () => {
    const sandbox = controlFixture()
    const answer = deferred<ReturnType<typeof answered>>()
    sandbox.answerWith(() => answer.promise)
    await sandbox.trigger({ wait: false })
    const waiting = sandbox.trigger({ kind: 'event.published' })
    const leaving = new AbortController()
    const left = sandbox.app.request(`${BASE_URL}/_sandbox/trigger`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"kind":"order.created","wait":true}',
      signal: leaving.signal,
    })
    let isAnswered = false
    void waiting.then(() => {
      isAnswered = true
    })
    await expect.poll(() => sandbox.sent.length).toBe(3)
    leaving.abort()
    expect((await left).status).toBe(201)
    for (let turn = 0; turn < 50; turn++) await new Promise(setImmediate)
    expect(isAnswered).toBe(false)
    answer.resolve(answered(500))
    expect((await waiting).json()).toMatchObject({ attempts: [{ response: { status: 500 } }] })
  })
})

interface Order {
  id: string
  refunded: boolean
}

test('orders are made, found by their event, account and refund, and listed with their tickets', async () => {
  const sandbox = apiFixture()
  const control = (path: string, body: object = {}) => sandbox.call('POST', `/_sandbox${path}`, { body })
  const found = async (query = '') => {
    const { data, matching } = await sandbox.read<{ data: Order[]; matching: number }>(
      `/_sandbox/orders${query}`,
    )
    return { ids: data.map(({ id }) => id), matching }
  }
  const [kept, back] = [await sandbox.create(), await sandbox.create()]
  const orderOf = async ({ id, tickets }: typeof kept, quantity: number) =>
    control('/orders', { event_id: id, ticket_tier_id: tickets[1]?.id, quantity })
  expect((await orderOf(kept, 1)).code).toBe('event_not_on_sale')
  for (const { id } of [kept, back]) await control(`/events/${id}/publish`)
  const first = (await orderOf(kept, 1)).json<{ order: Order }>().order.id
  const { order, tickets } = (await orderOf(back, 2)).json<{ order: Order; tickets: object[] }>()
  await control(`/events/${back.id}/cancel`)
  const newest = {
    id: order.id,
    event_id: back.id,
    tier: 'seat',
    quantity: 2,
    total_cents: 8000,
    buyer_email: 'buyer2@example.com',
    refunded: true,
    tickets,
  }
  expect(await sandbox.read('/_sandbox/orders?limit=1')).toEqual({ data: [newest], matching: 2 })
  expect(await found()).toEqual({ ids: [order.id, first], matching: 2 })
  expect(await found('?refunded=true')).toEqual({ ids: [order.id], matching: 1 })
  expect(await found('?refunded=false')).toEqual({ ids: [first], matching: 1 })
  expect(await found(`?event=${kept.id}`)).toEqual({ ids: [first], matching: 1 })
  expect(await found(`?event=${kept.id}&refunded=true`)).toEqual({ ids: [], matching: 0 })
  expect(await found('?mode=live')).toEqual({ ids: [], matching: 0 })
})

test('tickets are kept of the latest orders, also in a snapshot', async () => {
  const sandbox = apiFixture()
  const account = sandbox.service.accounts.test
  const { id, tickets } = await sandbox.create({
    tickets: [{ name: 'GA', price_cents: 1500, quantity: 2000 }],
  })
  account.publishEvent(id)
  const body = { event_id: id, ticket_tier_id: tickets[0]?.id, quantity: 1 }
  for (let sold = 0; sold < 1001; sold++) account.createOrder(body)
  const orders = account.latestOrders({ limit: 2000 }).data
  expect(orders).toHaveLength(1001)
  expect(orders.filter(({ tickets }) => tickets.length === 0)).toEqual([orders.at(-1)])
  account.restore(account.snapshot())
  expect(account.latestOrders({ limit: 2000 })).toEqual({ data: orders, matching: 1001 })
})

test('what is done by the control is no request of the API, and has its rules', async () => {
  const sandbox = controlFixture()
  const { id } = sandbox.service.accounts.test.createEvent(EVENT)
  const act = (action: string, body: object = {}) => sandbox.post(`/events/${id}/${action}`, body)
  const doors_at = '2026-12-31T19:30:00Z'
  expect((await act('publish')).json()).toMatchObject({ status: 'on_sale' })
  expect((await act('publish')).code).toBe('event_already_published')
  expect((await act('reschedule', { doors_at })).json()).toMatchObject({ doors_at })
  expect((await act('reschedule')).code).toBe('parameter_missing')
  expect((await sandbox.post('/events/evt_none/cancel')).status).toBe(404)
  expect(await sandbox.read('/_sandbox/requests')).toEqual({ data: [] })
  await sandbox.call('GET', '/v2/venues')
  expect((await sandbox.post('/reset')).status).toBe(204)
  expect(await sandbox.read('/_sandbox/requests')).toEqual({ data: [] })
})
