// The app under test. Its mailer and its clock are parameters: a test checks the one and moves the other.
const express = require('express')
const { Discard } = require('tix-webhooks')
const { tixWebhooks } = require('tix-webhooks/express')

/** Separate, so that a test can call one without an app. */
const handlers = (mailTickets) => ({
  'order.created': async ({ data: { order, tickets } }) => {
    if (order.total_cents === 0) throw new Discard('free tickets are handed out at the door')
    await mailTickets(order.buyer_email, tickets)
  },
})

function createApp({ mailTickets, ...options }) {
  const app = express()
  app.post('/hooks', tixWebhooks({ ...options, on: handlers(mailTickets) }))
  return app.use(express.json())
}

module.exports = { createApp, handlers }
