import { request } from 'node:http'
import { type DeliveryRecord, RetryLater, type WebhookOptions } from 'tix-webhooks'
import {
  adapterCases,
  createTestClock,
  deliverWithRetries,
  scenarios,
  signedDelivery,
} from 'tix-webhooks/testing'
import { describe, expect, onTestFinished, test } from 'vitest'
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

  // Each client has the headers of its answer in a form of its own: all must give the Retry-After.
  test('retries a failure and a RetryLater', async () => {
    const clock = createTestClock()
    const attempted: unknown[] = []
    const on: WebhookOptions['on'] = {
      'order.created': (_event, { attempt, signedAt }) => {
        attempted.push([attempt, signedAt.getTime() - clock.now()])
        if (attempt === 1) throw new Error('not yet')
        if (attempt === 2) throw new RetryLater({ afterSeconds: 120 })
      },
    }
    const { send, close } = await harness.mount({ secret: SECRET, on, now: clock.now, onError: () => {} })
    onTestFinished(async () => void (await close()))
    const delivery = await signedDelivery('order.created', { secret: SECRET })
    const attempts = await deliverWithRetries(send, delivery, { clock })
    expect(attempts.map(({ afterSeconds, status }) => [afterSeconds, status])).toEqual([
      [0, 500],
      [5, 503],
      [125, 200],
    ])
    expect(attempted).toEqual([
      [1, 0],
      [2, 0],
      [3, 0],
    ])
  })
})

/** Those of node:http and of a fetch handler are in test/src. */
const FRAMEWORKS = SERVERS.filter(([name]) => /^(Express|Fastify|Hono)/.test(name))

describe.each(FRAMEWORKS)('%s on a real socket', (_, start) => {
  const harness = harnessOf(async (options) => listen(await start(options)))
  test.each(rawBytesCases)('$name', ({ run }) => run(harness))
})

/** A request of any framework, as far as its headers go. */
interface SomeRequest {
  readonly req?: { header(name: string): string | undefined }
  readonly headers: Headers | Readonly<Record<string, string>>
}

function nameIn(given: unknown): string {
  const { req, headers } = given as SomeRequest
  if (typeof req?.header === 'function') return req.header('x-account') ?? ''
  return (headers instanceof Headers ? headers.get('x-account') : headers['x-account']) ?? ''
}

test.each(SERVERS)(
  'two accounts on a route: each has its order handled once, and a stranger is refused, in %s',
  async (_, start) => {
    const runs: unknown[] = []
    const account = (given: unknown): object | undefined => {
      const id = nameIn(given)
      return id === 'c' ? undefined : { id, secret: `whsec_${id}` }
    }
    const server = await start({
      account: account as never,
      on: { 'order.created': (_event, ctx) => runs.push((ctx.account as never as { id: string }).id) },
    })
    const { port, close } = await listen(server)
    const answers: string[] = []
    for (const name of ['a', 'b', 'b', 'a', 'c']) {
      const data = { order: { id: 'ord_of_b' } }
      const { headers, body } = await signedDelivery('order.created', { secret: `whsec_${name}`, data })
      answers.push((await post(port, { headers: { ...headers, 'x-account': name }, body })).text)
    }
    await close()
    const outcomes = ['handled', 'handled', 'duplicate', 'duplicate', 'unauthenticated']
    expect(answers.map((text) => JSON.parse(text).outcome)).toEqual(outcomes)
    expect(runs).toEqual(['a', 'b'])
  },
)

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
