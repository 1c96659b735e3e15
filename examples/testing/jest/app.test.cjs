// jest in CommonJS, and Express by supertest.
const request = require('supertest')
const { Discard } = require('tix-webhooks')
const testing = require('tix-webhooks/testing')
const { createApp, handlers } = require('./app.cjs')

const secret = 'whsec_test'
const mailTickets = jest.fn()
const app = createApp({ secret, mailTickets, onError: () => {} }) // do not log the errors of the scenarios
const postTo = (app) => (delivery) => request(app).post('/hooks').set(delivery.headers).send(delivery.body)

beforeEach(() => void mailTickets.mockReset())

test('mails the tickets of an order, once', async () => {
  const delivery = await testing.signedDelivery('order.created', { secret })
  await postTo(app)(delivery).expect(200, { outcome: 'handled' })
  await postTo(app)(delivery).expect(200, { outcome: 'duplicate' })
  const { order, tickets } = delivery.event.data
  expect(mailTickets.mock.calls).toEqual([[order.buyer_email, tickets]])
})

test('mails nothing for a free order', async () => {
  const free = testing.sampleEvent('order.created', { data: { order: { total_cents: 0 } } })
  const called = testing.callHandler(handlers(mailTickets), 'order.created', free)
  await expect(called).rejects.toThrow(Discard)
  expect(mailTickets).not.toHaveBeenCalled()
})

test('mails an order that fails twice at the third attempt, a minute later', async () => {
  const clock = testing.createTestClock()
  const app = createApp({ secret, mailTickets, now: clock.now, onError: () => {} })
  mailTickets.mockRejectedValueOnce(new Error('no mail yet')).mockRejectedValueOnce(new Error('nor now'))

  const delivery = await testing.signedDelivery('order.created', { secret, now: clock.now })
  const attempts = await testing.deliverWithRetries(postTo(app), delivery, { clock })
  expect(attempts.map(({ status }) => status)).toEqual([500, 500, 200])
  expect(attempts.at(-1).afterSeconds).toBe(60)
})

// One test for all of them: jest collects its tests before anything can be awaited.
test('passes every scenario', async () => {
  for (const { name, deliver, expect: must } of await testing.scenarios('order.created', { secret })) {
    mailTickets.mockClear()
    const answers = await deliver(postTo(app))
    const wrong = answers.map(({ status }) => status).filter((status) => !must.statuses.includes(status))
    expect({ name, wrong, runs: mailTickets.mock.calls.length }).toEqual({ name, wrong: [], runs: must.runs })
  }
})
