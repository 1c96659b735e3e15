import { expect, test } from 'vitest'
import { apiFixture } from '../../support/http-sandbox.js'

interface Order {
  id: string
  refunded: boolean
  tickets: { id: string; scan_token: string; wallet_pass_url: string }[]
}

type Account = ReturnType<typeof apiFixture>['service']['accounts']['test']

/** An event that is a draft, with this many seats. */
const draftIn = (account: Account, quantity: number) =>
  account.createEvent({
    title: 'Night of lights',
    venue_id: account.listVenues({}).data[0]?.id,
    doors_at: '2026-12-24T19:30:00Z',
    tickets: [{ name: 'balcony', price_cents: 1500, quantity }],
  })

const ordersOf = async (sandbox: ReturnType<typeof apiFixture>, query = '') =>
  (await sandbox.read<{ data: Order[] }>(`/_sandbox/orders${query}`)).data

test('GET /orders has the newest first, with tickets, and says which were refunded', async () => {
  const sandbox = apiFixture()
  const account = sandbox.service.accounts.test
  const event = draftIn(account, 10)
  const tier = event.tickets[0]?.id
  const sold = []
  for (const quantity of [1, 2]) {
    const body = { event_id: event.id, ticket_tier_id: tier, quantity }
    if (quantity === 1)
      expect((await sandbox.call('POST', '/_sandbox/orders', { body })).code).toBe('event_not_on_sale')
    if (quantity === 1) await sandbox.call('POST', `/_sandbox/events/${event.id}/publish`, { body: {} })
    const answer = await sandbox.call('POST', '/_sandbox/orders', { body })
    expect(answer.status).toBe(201)
    sold.push(answer.json<{ order: { id: string }; tickets: object[] }>())
  }
  const [second, first] = await ordersOf(sandbox)
  expect(second).toEqual({
    id: sold[1]?.order.id,
    event_id: event.id,
    tier: 'balcony',
    quantity: 2,
    total_cents: 3000,
    buyer_email: 'buyer2@example.com',
    refunded: false,
    tickets: sold[1]?.tickets,
  })
  expect(first?.id).toBe(sold[0]?.order.id)
  expect(await ordersOf(sandbox, '?limit=1')).toEqual([second])

  await sandbox.call('POST', `/_sandbox/events/${event.id}/cancel`, { body: {} })
  expect((await ordersOf(sandbox)).map(({ refunded }) => refunded)).toEqual([true, true])
})

test('GET /orders has those of an event, and those that were refunded or not, and counts them', async () => {
  const sandbox = apiFixture()
  const kept = (await sandbox.order()).json<{ order: { id: string; event_id: string } }>().order
  const back = (await sandbox.order()).json<{ order: { id: string; event_id: string } }>().order
  await sandbox.act(back.event_id, 'cancel')
  const found = async (query: string) => {
    const { data, matching } = await sandbox.read<{
      data: Order[]
      matching: number
    }>(`/_sandbox/orders?${query}`)
    return { ids: data.map(({ id }) => id), matching }
  }
  expect(await found('limit=1')).toEqual({ ids: [back.id], matching: 2 })
  expect(await found('refunded=true')).toEqual({ ids: [back.id], matching: 1 })
  expect(await found('refunded=false')).toEqual({ ids: [kept.id], matching: 1 })
  expect(await found(`event=${kept.event_id}`)).toEqual({ ids: [kept.id], matching: 1 })
  expect(await found(`event=${kept.event_id}&refunded=true`)).toEqual({ ids: [], matching: 0 })
})

test('tickets are kept of the latest orders, also in a snapshot', async () => {
  const sandbox = apiFixture()
  const account = sandbox.service.accounts.test
  const event = draftIn(account, 2000)
  account.publishEvent(event.id)
  for (let sold = 0; sold < 1001; sold++) {
    account.createOrder({ event_id: event.id, ticket_tier_id: event.tickets[0]?.id, quantity: 1 })
  }
  const orders = account.latestOrders({ limit: 2000 }).data
  expect(orders).toHaveLength(1001)
  expect(orders.filter(({ tickets }) => tickets.length === 0)).toEqual([orders.at(-1)])
  account.restore(account.snapshot())
  expect(account.latestOrders({ limit: 1 })).toEqual({
    data: [orders[0]],
    matching: 1001,
  })
  expect(account.latestOrders({ limit: 2000 }).data).toEqual(orders)
})

test('what is done by the control is no request of the API, and has its rules', async () => {
  const sandbox = apiFixture()
  const account = sandbox.service.accounts.test
  const event = draftIn(account, 10)
  const path = `/_sandbox/events/${event.id}`
  const doors_at = '2026-12-31T19:30:00Z'
  expect((await sandbox.call('POST', `${path}/publish`, { body: {} })).json()).toMatchObject({
    status: 'on_sale',
  })
  expect((await sandbox.call('POST', `${path}/publish`, { body: {} })).code).toBe('event_already_published')
  expect((await sandbox.call('POST', `${path}/reschedule`, { body: { doors_at } })).json()).toMatchObject({
    doors_at,
  })
  expect((await sandbox.call('POST', `${path}/reschedule`, { body: {} })).code).toBe('parameter_missing')
  expect((await sandbox.call('POST', '/_sandbox/events/evt_none/cancel', { body: {} })).status).toBe(404)
  expect(await sandbox.read('/_sandbox/requests')).toEqual({ data: [] })
})
