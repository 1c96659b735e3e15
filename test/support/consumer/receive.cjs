// Uses every subpath as a consumer does. The caller chooses the copy of the package (ESM or CJS).
const { createServer } = require('node:http')
const { Readable } = require('node:stream')
const express = require('express')
const fastify = require('fastify')
const { Hono } = require('hono')

const SECRET = 'whsec_consumer'
const URL_OF_HOOKS = 'http://127.0.0.1/hooks'

/**
 * Sends each subpath a good delivery, one without a signature, and one whose handler throws a `RetryLater` of the other copy.
 *
 * @param tix the modules of one copy, by subpath
 * @param other the main module of the other copy
 * @returns the three answers by subpath, and what the errors are instances of
 */
module.exports = async function receiveEverywhere(tix, other) {
  const deliveries = await Promise.all([
    tix.testing.signedDelivery('order.created', { secret: SECRET }),
    { body: '{}', headers: { 'content-type': 'application/json' } },
    tix.testing.signedDelivery('event.published', { secret: SECRET }),
  ])
  const answers = {}
  const errors = []
  for (const [name, startReceiver] of Object.entries(receivers(tix))) {
    const { send, stop } = await startReceiver({
      secret: SECRET,
      on: {
        'order.created': (event) => event.data.order.id,
        'event.*': () => {
          throw new other.RetryLater({ afterSeconds: 7, reason: 'busy' })
        },
      },
      onError: (error) => errors.push(error),
    })
    answers[name] = []
    for (const delivery of deliveries) answers[name].push(await send(delivery))
    await stop?.()
  }
  const { WebhookVerificationError, ConfigurationError, BodyError, isWebhookError } = tix.index
  const { node, fetch: web } = tix
  const consumed = Readable.from(['x']).resume()
  await new Promise((resolve) => consumed.once('end', resolve))
  return {
    answers,
    verificationErrors: errors.filter((error) => error instanceof WebhookVerificationError).length,
    ofNode: (await thrownBy(node.streamBody(consumed)(9))) instanceof ConfigurationError,
    ofFetch:
      (await thrownBy(web.requestBody(new Request(URL_OF_HOOKS, post('long')))(1))) instanceof BodyError,
    ofOther: isWebhookError(new other.Discard('mine')),
  }
}

/** How each subpath is mounted and reached. */
function receivers(tix) {
  return {
    index: async (options) => {
      const receiver = tix.index.createReceiver(options)
      return {
        send: async ({ body, headers }) => {
          const bytes = new TextEncoder().encode(body)
          const delivery = { header: headers[receiver.headerName], body: bytes, request: null }
          const answer = tix.index.answerTo(await receiver.receive(delivery))
          return told(answer.status, answer.body, answer.headers['retry-after'])
        },
      }
    },
    express: (options) => listening(express().post('/hooks', tix.express.tixWebhooks(options))),
    node: (options) => listening(tix.node.tixWebhooks(options)),
    fastify: async (options) => {
      const app = fastify()
      app.post('/hooks', tix.fastify.tixWebhooks(options))
      await app.ready()
      return listening(app.routing)
    },
    hono: async (options) => {
      const app = new Hono().post('/hooks', tix.hono.tixWebhooks(options))
      return { send: ({ body, headers }) => fetched(app.request('/hooks', post(body, headers))) }
    },
    fetch: async (options) => {
      const POST = tix.fetch.tixWebhooks(options)
      return { send: ({ body, headers }) => fetched(POST(new Request(URL_OF_HOOKS, post(body, headers)))) }
    },
  }
}

async function listening(listener) {
  const server = createServer(listener).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const url = `http://127.0.0.1:${server.address().port}/hooks`
  return {
    send: ({ body, headers }) => fetched(fetch(url, post(body, headers))),
    stop: () => {
      server.close()
      server.closeAllConnections()
    },
  }
}

function post(body, headers = {}) {
  return { method: 'POST', body, headers }
}

async function fetched(responding) {
  const response = await responding
  return told(response.status, await response.text(), response.headers.get('retry-after'))
}

function told(status, text, retryAfter) {
  return [status, text, ...(retryAfter == null ? [] : [retryAfter])].join(' ')
}

async function thrownBy(promise) {
  try {
    return await promise
  } catch (error) {
    return error
  }
}
