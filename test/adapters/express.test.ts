import type { Express } from 'express'
import { type ExpressWebhooks, tixWebhooks } from 'tix-webhooks/express'
import { describe, expect, onTestFinished, test } from 'vitest'
import { orderCreated, SECRET, sign } from '../support/deliveries.js'
import { EXPRESS_VERSIONS, expressApp } from '../support/express.js'
import { listen, post } from '../support/http.js'
import { harnessOf, rawBytesCases } from '../support/raw-bytes-cases.js'
import { assertAnswer, deliver } from '../support/raw-bytes-harness.js'

test('the two majors are what they are taken for', () => {
  expect(EXPRESS_VERSIONS.map(({ version }) => version.split('.')[0])).toEqual(['5', '4'])
})

describe.each(EXPRESS_VERSIONS)('Express $version', ({ express }) => {
  describe('exact bytes', () => {
    const harness = harnessOf((options) => listen(express().post('/hooks', tixWebhooks(options))))
    for (const { name, run } of rawBytesCases) test(name, () => run(harness))
  })

  test.each<[string, (app: Express, hooks: ExpressWebhooks) => void]>([
    ['app.post', (app, hooks) => app.post('/hooks/in', hooks)],
    ['app.all', (app, hooks) => app.all('/hooks/in', hooks)],
    ['app.use', (app, hooks) => app.use('/hooks', hooks)],
    ['app.use with no path', (app, hooks) => app.use(hooks)],
    ['app.route', (app, hooks) => app.route('/hooks/in').post(hooks)],
    ['a Router', (app, hooks) => app.use('/hooks', express.Router().post('/in', hooks))],
    ['an app within the app', (app, hooks) => app.use('/hooks', express().post('/in', hooks))],
  ])('can be mounted by %s', async (_, mount) => {
    const app = await expressApp(express, mount)
    const delivery = await sign(orderCreated())
    assertAnswer(await deliver(app.port, delivery, { path: '/hooks/in' }), 200, 'handled')
    assertAnswer(await deliver(app.port, delivery, { path: '/hooks/in' }), 200, 'duplicate')
  })

  test('passes anything but a POST on, under app.use, as middleware does', async () => {
    const { port, records } = await expressApp(express, (app, hooks) => {
      app.use('/hooks', hooks)
      app.get('/hooks/status', (_request, response) => void response.send('open'))
    })
    expect(await post(port, { method: 'GET', path: '/hooks/status' })).toMatchObject({
      status: 200,
      text: 'open',
    })
    for (const method of ['GET', 'HEAD', 'DELETE', 'PUT', 'OPTIONS']) {
      for (const path of ['/hooks', '/hooks/in']) {
        expect((await post(port, { method, path })).status, `${method} ${path}`).toBe(404)
      }
    }
    expect(records).toEqual([])
  })

  test('answers by itself: what is mounted after it never runs, error middleware included', async () => {
    const after: string[] = []
    const fail = (): never => {
      throw new Error('no seats left')
    }
    const app = await expressApp(
      express,
      (app, hooks) => {
        app.post('/hooks', hooks)
        app.use((_request, _response, next) => {
          after.push('middleware')
          next()
        })
        app.use((error: unknown, _request: unknown, _response: unknown, next: (error: unknown) => void) => {
          after.push('error middleware')
          next(error)
        })
      },
      { on: { 'order.created': fail } },
    )
    assertAnswer(await deliver(app.port, await sign(orderCreated())), 500, 'failed')
    assertAnswer(await post(app.port), 400, 'malformed')
    expect(after).toEqual([])
  })

  test('gives handlers and the secret function the request of Express itself', async () => {
    const tenants: Record<string, string> = { north: SECRET, south: 'whsec_of_the_south' }
    const seen: unknown[] = []
    const app = express()
    app.post(
      '/hooks/:tenant',
      tixWebhooks({
        secret: ({ params }) => tenants[String(params.tenant)],
        on: {
          'order.created': (_event, { request }) => {
            seen.push([request.app === app, request.params.tenant, request.get('Content-Type')])
          },
        },
        onError: () => {},
      }),
    )
    const { port, close } = await listen(app)
    onTestFinished(close)
    const toNorth = await sign(orderCreated())
    assertAnswer(await deliver(port, toNorth, { path: '/hooks/south' }), 401, 'unauthenticated')
    assertAnswer(await deliver(port, toNorth, { path: '/hooks/north' }), 200, 'handled')
    assertAnswer(await deliver(port, toNorth, { path: '/hooks/nowhere' }), 500, 'misconfigured')
    expect(seen).toEqual([[true, 'north', 'application/json']])
  })

  test('two endpoints of one app each take what is signed with their own secret, and remember it apart', async () => {
    const secrets = { '/orders': 'whsec_orders', '/listings': 'whsec_listings' }
    const runs: string[] = []
    const app = express()
    for (const [path, secret] of Object.entries(secrets)) {
      const on = { 'order.created': () => runs.push(path) }
      app.post(path, tixWebhooks({ secret, on, onError: () => {} }))
    }
    const { port, close } = await listen(app)
    onTestFinished(close)
    const order = orderCreated()
    for (const [path, secret] of Object.entries(secrets)) {
      const delivery = await sign(order, { secret })
      for (const other of Object.keys(secrets).filter((each) => each !== path)) {
        assertAnswer(await deliver(port, delivery, { path: other }), 401, 'unauthenticated')
      }
      assertAnswer(await deliver(port, delivery, { path }), 200, 'handled')
    }
    expect(runs).toEqual(Object.keys(secrets))
  })
})
