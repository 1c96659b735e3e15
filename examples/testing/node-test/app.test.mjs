// node:test, and Fastify's inject: nothing to install, and no socket.
import assert from 'node:assert/strict'
import test, { beforeEach, mock } from 'node:test'
import { createTestClock, deliverWithRetries, scenarios, signedDelivery } from 'tix-webhooks/testing'
import { createApp } from './app.mjs'

const secret = 'whsec_test'
const mailTickets = mock.fn(async () => {})
const app = createApp({ secret, mailTickets, onError: () => {} }) // do not log the errors of the scenarios
const sendTo = (app) => (delivery) => app.inject(delivery.toInject('/hooks'))

beforeEach(() => mailTickets.mock.resetCalls())

test('mails the tickets of an order, once', async () => {
  const delivery = await signedDelivery('order.created', { secret })
  const first = await app.inject(delivery.toInject('/hooks'))
  const second = await app.inject(delivery.toInject('/hooks'))

  assert.deepEqual([first.statusCode, first.json()], [200, { outcome: 'handled' }])
  assert.deepEqual([second.statusCode, second.json()], [200, { outcome: 'duplicate' }])
  const [mail, ...more] = mailTickets.mock.calls
  const { order, tickets } = delivery.event.data
  assert.deepEqual([mail.arguments, more], [[order.buyer_email, tickets], []])
})

test('mails nothing for a free order', async () => {
  const free = await signedDelivery('order.created', { secret, data: { order: { total_cents: 0 } } })
  const answer = await app.inject(free.toInject('/hooks'))
  assert.deepEqual([answer.statusCode, answer.json()], [200, { outcome: 'discarded' }])
  assert.equal(mailTickets.mock.callCount(), 0)
})

test('mails an order that fails twice at the third attempt, a minute later', async () => {
  const clock = createTestClock()
  const app = createApp({ secret, mailTickets, now: clock.now, onError: () => {} })
  const fail = () => Promise.reject(new Error('no mail yet'))
  mailTickets.mock.mockImplementationOnce(fail, 0)
  mailTickets.mock.mockImplementationOnce(fail, 1)

  const delivery = await signedDelivery('order.created', { secret, now: clock.now })
  const attempts = await deliverWithRetries(sendTo(app), delivery, { clock })
  const answers = attempts.map(({ status, afterSeconds }) => `${status} after ${afterSeconds} s`)
  assert.deepEqual(answers, ['500 after 0 s', '500 after 5 s', '200 after 60 s'])
})

for (const { name, deliver, expect: must } of await scenarios('order.created', { secret })) {
  test(`passes the scenario ${name}`, async () => {
    const answers = await deliver(sendTo(app))
    for (const { statusCode } of answers) assert.ok(must.statuses.includes(statusCode), `${statusCode}`)
    assert.equal(mailTickets.mock.callCount(), must.runs)
  })
}
