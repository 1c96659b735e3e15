import { createServer, request } from 'node:http'
import Koa from 'koa'
import { adapterCases, scenarios, signedDelivery } from 'tix-webhooks/testing'
import { describe, expect, onTestFinished, test } from 'vitest'
import { tixWebhooks as forKoa } from '../../examples/own-adapter.js'
import { ADAPTERS, SERVERS } from '../support/adapter-harnesses.js'
import { SECRET } from '../support/deliveries.js'
import { listen } from '../support/http.js'
import { WAIT_LIMIT_MS } from '../support/patience.js'
import { countingOptions, failing } from '../support/played-scenarios.js'
import { deferred, turns } from '../support/promises.js'
import { harnessOf, rawBytesCases } from '../support/raw-bytes-cases.js'

describe.each(ADAPTERS)('%s', (_, harness) => {
  test.each(adapterCases.map(({ id, name, run }) => [id, name, run] as const))(
    '%s: it %s',
    (_id, _name, run) => run({ ...harness, timeoutSeconds: WAIT_LIMIT_MS / 1000 }),
  )

  // The kind makes no difference to an adapter; events of this one suit all scenarios.
  test('answers and runs every scenario as it must', async () => {
    const { options, runs } = countingOptions({ onUnhandled: () => {} })
    const { send, close } = await harness.mount(options)
    onTestFinished(async () => void (await close()))
    expect(await failing(await scenarios('event.published', { secret: SECRET }), { send, runs })).toEqual([])
  })
})

/** Those of node:http and of a fetch handler are in test/src. */
const FRAMEWORKS: typeof SERVERS = [
  ...SERVERS.filter(([name]) => /^(Express|Fastify|Hono)/.test(name)),
  [
    'Koa, as in examples/own-adapter.ts',
    async (options) => {
      const app = new Koa().use(forKoa(options))
      // Koa would print an error for each client that disconnects.
      app.silent = true
      return createServer(app.callback())
    },
  ],
]

describe.each(FRAMEWORKS)('%s on a real socket', (_, start) => {
  const harness = harnessOf(async (options) => listen(await start(options)))
  test.each(rawBytesCases)('$name', ({ run }) => run(harness))
})

test.each(SERVERS)('a handler runs to its end though its client leaves, in %s', async (_, start) => {
  const [started, work, recorded] = [deferred(), deferred(), deferred<string>()]
  const server = await start({
    secret: SECRET,
    on: {
      'order.created': async () => {
        started.resolve()
        await work.promise
      },
    },
    onDelivery: ({ outcome }) => recorded.resolve(outcome),
  })
  const { port, close } = await listen(server)
  onTestFinished(close)
  const { headers, body } = await signedDelivery('order.created', { secret: SECRET })
  const leaving = request({ port, method: 'POST', path: '/hooks', headers })
  leaving.on('error', () => {})
  leaving.end(body)
  await started.promise
  leaving.destroy()
  // Until the server knows.
  await turns(20)
  work.resolve()
  expect(await recorded.promise).toBe('handled')
})
