import express from 'express'
import fastify, { type InjectOptions } from 'fastify'
import { Hono } from 'hono'
import supertest from 'supertest'
import type { WebhookOptions } from 'tix-webhooks'
import { tixWebhooks as forExpress } from 'tix-webhooks/express'
import { tixWebhooks as forFastify } from 'tix-webhooks/fastify'
import { tixWebhooks as forFetch } from 'tix-webhooks/fetch'
import { tixWebhooks as forHono } from 'tix-webhooks/hono'
import { tixWebhooks as forNode } from 'tix-webhooks/node'
import {
  makeScenario,
  sampleEvent,
  signedBody,
  signedDelivery,
  type TestDelivery,
} from 'tix-webhooks/testing'
import { describe, expect, onTestFinished, test } from 'vitest'
import { SECRET } from '../../support/deliveries.js'
import { listen } from '../../support/http.js'
import { watched } from '../../support/watched.js'

const secret = SECRET
type Delivery = TestDelivery<string | Uint8Array>

/** Sends a delivery to an app with these options, by the line that the user writes, and gives the status. */
type Client = (options: WebhookOptions, delivery: Delivery) => Promise<number>

/** By the lines that a user writes; the other ways are those of test/adapters. */
const CLIENTS: Readonly<Record<string, Client>> = {
  async 'Express with supertest'(options, { headers, body }) {
    const request = supertest(express().post('/hooks', forExpress(options)))
      .post('/hooks')
      .set(headers)
    if (typeof body === 'string') return (await request.send(body)).status
    // It would serialize anything but a string as JSON, because of the content type.
    return (await request.serialize((bytes) => bytes).send(Buffer.from(body))).status
  },
  async 'Fastify with inject'(options, delivery) {
    const app = fastify()
    onTestFinished(() => app.close())
    app.post('/hooks', forFastify(options))
    return (await app.inject(delivery.toInject('/hooks') as InjectOptions)).statusCode
  },
  async 'a socket with fetch(url, delivery)'(options, delivery) {
    const { url, close } = await listen(forNode(options))
    onTestFinished(close)
    return (await fetch(`${url}/hooks`, delivery as TestDelivery)).status
  },
  async 'Hono with app.request(path, delivery)'(options, delivery) {
    const app = new Hono().post('/hooks', forHono(options))
    return (await app.request('/hooks', delivery as TestDelivery)).status
  },
  async 'the fetch handler with delivery.toRequest(path)'(options, delivery) {
    return (await forFetch(options)(delivery.toRequest('/hooks'))).status
  },
}

const event = sampleEvent('order.created', { data: { order: { buyer_email: 'ünï@example.com' } } })
const signature = { header: 'X-Tickets-Signature', algorithm: 'SHA-512', encoding: 'base64' } as const

const BODIES: readonly [string, string | Uint8Array, number][] = [
  ['text beyond ASCII', JSON.stringify(event), 200],
  ['bytes with a byte order mark', new TextEncoder().encode(`\ufeff${JSON.stringify(event)}`), 200],
  ['a view into more bytes', new TextEncoder().encode(`xx${JSON.stringify(event)}`).subarray(2), 200],
  // Authentic, and no event: a client that changed a byte of it would get 401.
  ['bytes that are no text', Uint8Array.of(0, 0xff, 0xfe, 0x80, 10, 13, 0), 500],
]

describe.each(Object.entries(CLIENTS))('to %s', (_name, send) => {
  test.each(BODIES)('%s comes as it was signed', async (_what, body, status) => {
    const { options, runs } = watched()
    expect(await send(options, await signedBody(body, { secret }))).toBe(status)
    expect(runs.map(({ rawBody }) => Buffer.from(rawBody).toString('hex'))).toEqual(
      status === 200 ? [Buffer.from(body as string).toString('hex')] : [],
    )
  })

  test('a delivery in the style of another service comes with its header', async () => {
    const { options } = watched({ signature })
    expect(await send(options, await signedDelivery('order.created', { secret, signature }))).toBe(200)
  })

  test('a delivery can be sent again, as it is and signed again', async () => {
    const { options, runs, records } = watched()
    const delivery = await signedDelivery('order.created', { secret })
    expect(await send(options, delivery)).toBe(200)
    expect(await send(options, delivery)).toBe(200)
    expect(await send(options, await delivery.signAgain())).toBe(200)
    expect(records.map(({ outcome }) => outcome)).toEqual(['handled', 'handled', 'handled'])
    expect(new Set(runs.map(({ event }) => JSON.stringify(event))).size).toBe(1)
  })
})

test('toRequest takes a URL, or what is relative to that of the local host', async () => {
  const { toRequest } = await signedDelivery('order.created', { secret })
  const urls = ['hooks?x=1', new URL('https://example.com:8443/hooks')].map((url) => toRequest(url).url)
  expect(urls).toEqual(['http://localhost/hooks?x=1', 'https://example.com:8443/hooks'])
})

test('toInject gives what inject takes: headers of its own, and bytes as a Buffer', async () => {
  const { toInject, header, headers, body } = await signedDelivery('order.created', { secret })
  const request = toInject('/hooks')
  expect(request).toEqual({ method: 'POST', url: '/hooks', headers, payload: body })
  request.headers['x-service-signature'] = 'changed'
  expect(headers['x-service-signature']).toBe(header)
  const bytes = await signedBody(Uint8Array.of(1, 2, 3).subarray(1), { secret })
  expect(bytes.toInject('/hooks').payload).toEqual(Buffer.from([2, 3]))
})

test('a delivery without a signature has no header of it', async () => {
  const body = JSON.stringify(sampleEvent('order.created'))
  const [delivery] = (await makeScenario('missing-header', { body, secret })).deliveries
  const headers = { 'content-type': 'application/json' }
  expect([delivery?.header, delivery?.headers, delivery?.toInject('/hooks').headers]).toEqual([
    undefined,
    headers,
    headers,
  ])
  expect(Object.fromEntries(delivery?.toRequest('/hooks').headers ?? [])).toEqual(headers)
})
