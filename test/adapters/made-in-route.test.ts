import express from 'express'
import type { WebhookOptions } from 'tix-webhooks'
import { beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { orderCreated, SECRET, sign } from '../support/deliveries.js'
import { answerOf, requestOf } from '../support/fetching.js'
import { listen, post } from '../support/http.js'

type Adapters = Awaited<ReturnType<typeof freshAdapters>>
type Send = (delivery: Awaited<ReturnType<typeof sign>>) => Promise<string>

/** The receivers found are counted in a process: each test has a copy of the package. */
async function freshAdapters() {
  vi.resetModules()
  return {
    main: await import('tix-webhooks'),
    inExpress: await import('tix-webhooks/express'),
    inFetch: await import('tix-webhooks/fetch'),
  }
}

const options = { secret: SECRET, on: { 'order.created': () => {} } } satisfies WebhookOptions

const toFetch =
  (handle: (request: Request) => Response | Promise<Response>): Send =>
  async (delivery) =>
    (await answerOf(await handle(requestOf(delivery)))).text

async function toExpress(app: express.Express): Promise<Send> {
  const { port, close } = await listen(app)
  onTestFinished(close)
  return async ({ header, body }) =>
    (await post(port, { headers: { 'x-service-signature': header }, body })).text
}

let adapters: Adapters
let warned: ReturnType<typeof vi.spyOn>

beforeEach(async () => {
  warned = vi.spyOn(console, 'warn').mockImplementation(() => {})
  onTestFinished(() => warned.mockRestore())
  adapters = await freshAdapters()
})
test.each<[string, (adapters: Adapters) => Send | Promise<Send>]>([
  [
    'of Express',
    ({ inExpress }) =>
      toExpress(
        express().post('/hooks', (request, response, next) => {
          void inExpress.tixWebhooks(options)(request, response, next)
        }),
      ),
  ],
  ['of a fetch handler', ({ inFetch }) => toFetch(async (request) => inFetch.tixWebhooks(options)(request))],
  [
    'by an async function',
    ({ inFetch }) => {
      const make = async () => inFetch.tixWebhooks(options)
      return toFetch(async (request) => (await make())(request))
    },
  ],
])('a receiver that is made inside its route %s is warned of once', async (_, mount) => {
  const send = await mount(adapters)
  const order = await sign(orderCreated())
  for (let times = 0; times < 4; times++) expect(await send(order)).toBe('{"outcome":"handled"}')
  expect(warned.mock.calls).toEqual([[expect.stringMatching(/made inside its route.*Make it once, outside/)]])
})

describe('there is no warning of', () => {
  test.each<[string, (adapters: Adapters) => Promise<readonly Send[]>]>([
    [
      'receivers that a loop over routes makes',
      async ({ inExpress }) => {
        const app = express()
        for (const path of ['/hooks', '/other', '/third']) app.post(path, inExpress.tixWebhooks(options))
        return [await toExpress(app)]
      },
    ],
    [
      'one that had its first delivery at once, as in a test',
      async ({ inFetch }) => [toFetch(async (request) => inFetch.tixWebhooks(options)(request))],
    ],
    [
      'receivers that are made at the first request of a tenant, and kept',
      async ({ inFetch }) => {
        const kept = new Map<string, ReturnType<Adapters['inFetch']['tixWebhooks']>>()
        return ['a', 'b', 'c'].map((tenant) => {
          const send = toFetch(async (request) => {
            const hooks = kept.get(tenant) ?? inFetch.tixWebhooks(options)
            kept.set(tenant, hooks)
            return hooks(request)
          })
          return async (delivery) => {
            await send(delivery)
            return send(delivery)
          }
        })
      },
    ],
    [
      'receivers with a store, which they share',
      async ({ main, inFetch }) => {
        const shared = { ...options, store: main.memoryStore(), namespace: 'orders' }
        const send = toFetch(async (request) => inFetch.tixWebhooks(shared)(request))
        return [send, send, send]
      },
    ],
  ])('%s', async (_, mount) => {
    for (const send of await mount(adapters)) await send(await sign(orderCreated()))
    expect(warned).not.toHaveBeenCalled()
  })
})

describe('a receiver that each test has of its beforeEach', () => {
  let shared: Adapters
  let hooks: ReturnType<Adapters['inFetch']['tixWebhooks']>
  let request: Request

  beforeAll(async () => {
    shared = await freshAdapters()
    request = requestOf(await sign(orderCreated()))
  })
  beforeEach(() => {
    hooks = shared.inFetch.tixWebhooks(options)
  })

  test.each([1, 2, 3])('is not warned of: test %d', async () => {
    await hooks(request.clone())
    expect(warned).not.toHaveBeenCalled()
  })
})
