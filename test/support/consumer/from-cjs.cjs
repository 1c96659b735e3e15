const tix = {
  index: require('tix-webhooks'),
  express: require('tix-webhooks/express'),
  fastify: require('tix-webhooks/fastify'),
  fetch: require('tix-webhooks/fetch'),
  hono: require('tix-webhooks/hono'),
  node: require('tix-webhooks/node'),
  testing: require('tix-webhooks/testing'),
}
const loaded = Object.keys(require.cache).filter((file) => file !== __filename)
const receiveEverywhere = require('./receive.cjs')

import('tix-webhooks').then(async (other) => {
  console.info(JSON.stringify({ ...(await receiveEverywhere(tix, other)), loaded }))
})
