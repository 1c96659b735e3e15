// vitest, and Hono's app.request: no server, no socket.
import { Discard } from 'tix-webhooks'
import {
  callHandler,
  createTestClock,
  deliverWithRetries,
  sampleEvent,
  scenarios,
  signedDelivery,
} from 'tix-webhooks/testing'
import { beforeEach, expect, test, vi } from 'vitest'
import { createApp, handlers, type MailTickets } from './app.js'

const secret = 'whsec_test'
const mailTickets = vi.fn<MailTickets>()
const app = createApp({ secret, mailTickets, onError: () => {} }) // do not log the errors of the scenarios

beforeEach(() => void mailTickets.mockReset())

test('mails the tickets of an order, once', async () => {
  const delivery = await signedDelivery('order.created', { secret })
  const first = await app.request('/hooks', delivery)
  const second = await app.request('/hooks', delivery)

  expect([first.status, await first.json()]).toEqual([200, { outcome: 'handled' }])
  expect([second.status, await second.json()]).toEqual([200, { outcome: 'duplicate' }])
  const { order, tickets } = delivery.event.data
  expect(mailTickets.mock.calls).toEqual([[order.buyer_email, tickets]])
})

test('mails nothing for a free order', async () => {
  const free = sampleEvent('order.created', { data: { order: { total_cents: 0 } } })
  await expect(callHandler(handlers(mailTickets), 'order.created', free)).rejects.toThrow(Discard)
  expect(mailTickets).not.toHaveBeenCalled()
})

test('mails an order that fails twice at the third attempt, a minute later', async () => {
  const clock = createTestClock()
  const app = createApp({ secret, mailTickets, now: clock.now, onError: () => {} })
  mailTickets.mockRejectedValueOnce(new Error('no mail yet')).mockRejectedValueOnce(new Error('nor now'))

  const delivery = await signedDelivery('order.created', { secret, now: clock.now })
  const attempts = await deliverWithRetries((again) => app.request('/hooks', again), delivery, { clock })
  expect(attempts.map(({ status }) => status)).toEqual([500, 500, 200])
  expect(attempts.at(-1)?.afterSeconds).toBe(60)
})

for (const { name, deliver, expect: must } of await scenarios('order.created', { secret })) {
  test(`passes the scenario ${name}`, async () => {
    const answers = await deliver((delivery) => app.request('/hooks', delivery))
    for (const { status } of answers) expect(must.statuses).toContain(status)
    expect(mailTickets).toHaveBeenCalledTimes(must.runs)
  })
}
