// The same of a CommonJS module: it gets the types of the `require` side.
import http = require('node:http')
import tix = require('tix-webhooks')
import tixExpress = require('tix-webhooks/express')
import tixFastify = require('tix-webhooks/fastify')
import tixFetch = require('tix-webhooks/fetch')
import tixHono = require('tix-webhooks/hono')
import tixNode = require('tix-webhooks/node')

const options: tix.WebhookOptions = {
  secret: process.env.TIX_SIGNING_SECRET,
  on: {
    'order.created': (event) => {
      const total: number = event.data.order.total_cents
      if (total === 0) throw new tix.Discard('free')
    },
  },
}

http.createServer(tixNode.tixWebhooks(options))

export = {
  receiver: tix.createReceiver(options),
  express: tixExpress.tixWebhooks(options),
  fastify: tixFastify.tixWebhooks(options),
  fetch: tixFetch.tixWebhooks(options),
  hono: tixHono.tixWebhooks(options),
}
