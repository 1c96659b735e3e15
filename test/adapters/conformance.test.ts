import { createServer, request } from 'node:http'
import Koa from 'koa'
import type { DeliveryRecord } from 'tix-webhooks'
import { adapterCases, scenarios, signedDelivery } from 'tix-webhooks/testing'
import { describe, expect, onTestFinished, test } from 'vitest'
import { tixWebhooks as forKoa } from '../../examples/own-adapter.js'
import { ADAPTERS, SERVERS } from '../support/adapter-harnesses.js'
import { atOnce } from '../support/at-once.js'
import { SECRET } from '../support/deliveries.js'
import { listen, post } from '../support/http.js'
import { countingOptions, failing } from '../support/played-scenarios.js'
import { deferred, turns } from '../support/promises.js'
import { harnessOf, rawBytesCases } from '../support/raw-bytes-cases.js'
import { SOON_HEADER } from '../support/retry-after.js'

describe.each(ADAPTERS)('%s', (_, harness) => {
  test.each(adapterCases.map(({ id, name, run }) => [id, name, run] as const))(
    '%s: it %s',
    (_id, _name, run) => run(harness),
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

test('of two that wait for a place among the runs, one is refused at half of its time, and one runs though its client leaves, in each framework', () =>
  atOnce(
    SERVERS.map(([name, start]) => ({ name, start })),
    async ({ start }) => {
      const [work, started, waiting] = [deferred(), deferred(), deferred()]
      const records: DeliveryRecord[] = []
      const runs: string[] = []
      const server = await start({
        secret: SECRET,
        concurrency: 1,
        timeoutSeconds: 3,
        // The last step before a place is taken.
        key: (event) => {
          const { id } = (event.data as { order: { id: string } }).order
          if (id === 'leaves') waiting.resolve()
          return id
        },
        on: {
          'order.created': async (event) => {
            runs.push(event.data.order.id)
            started.resolve()
            await work.promise
          },
        },
        onDelivery: (record) => records.push(record),
      })
      const { port, close } = await listen(server)
      const delivery = (id: string) =>
        signedDelivery('order.created', { secret: SECRET, data: { order: { id } } })
      const send = async (id: string) => post(port, await delivery(id))
      const running = send('runs')
      await started.promise
      const { status, text, headers } = await send('waits')
      expect([status, text]).toEqual([503, '{"outcome":"overloaded"}'])
      expect(headers['retry-after']).toEqual(SOON_HEADER)
      const left = await delivery('leaves')
      const leaving = request({ port, method: 'POST', path: '/hooks', headers: left.headers })
      leaving.on('error', () => {})
      leaving.end(left.body)
      await waiting.promise
      leaving.destroy()
      // Until the server knows.
      await turns(20)
      work.resolve()
      expect((await running).text).toBe('{"outcome":"handled"}')
      expect((await send('waits')).text).toBe('{"outcome":"handled"}')
      expect(runs).toEqual(['runs', 'leaves', 'waits'])
      expect(records.map(({ outcome }) => outcome)).toEqual(['overloaded', 'handled', 'handled', 'handled'])
      await close()
    },
  ))
