import { setImmediate } from 'node:timers/promises'
import type { MeterProvider } from '@opentelemetry/sdk-metrics'
import {
  createReceiver,
  type FailureState,
  type LedgerStore,
  memoryStore,
  type WebhookOptions,
} from 'tix-webhooks'
import { instrument } from 'tix-webhooks/opentelemetry'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { orderCreated, SECRET, sign } from '../support/deliveries.js'
import { ledgerInbox } from '../support/honest-inbox.js'
import { deferred } from '../support/promises.js'
import { storeWith } from '../support/receiving.js'
import { telemetry, unregister } from '../support/telemetry.js'

afterEach(() => {
  unregister()
  vi.useRealTimers()
})

const GAUGE = 'tix_webhooks.failures'

function failing(options: Partial<WebhookOptions>, meterProvider?: MeterProvider) {
  const on = {
    'order.created': vi.fn((): void => {
      throw new Error('broken')
    }),
  }
  const receiver = createReceiver(
    instrument({ secret: SECRET, on, onError: () => {}, namespace: 'orders', ...options }, { meterProvider }),
  )
  const send = async (id: string) =>
    receiver.receive({ ...(await sign(orderCreated({ id }))), request: undefined })
  return { handler: on['order.created'], receiver, send }
}

type Seen = ReturnType<typeof telemetry>

/** The points of the gauge, such as `orders failing 2`. */
async function points({ series }: Seen): Promise<string[]> {
  const found = await series(GAUGE)
  return found
    .map(
      ({ attributes, count }) =>
        `${attributes['tix_webhooks.namespace']} ${attributes['tix_webhooks.state']} ${count}`,
    )
    .sort()
}

/** A store of whose ledger only the count is asked for. */
function counting(count: (filter: { state?: FailureState }) => unknown): LedgerStore {
  const store = memoryStore()
  return { ...store, ledger: { ...store.ledger, count } as LedgerStore['ledger'] }
}

describe('the gauge of failures', () => {
  test('has those of each namespace by state, though two receivers share a ledger', async () => {
    const seen = telemetry()
    const store = memoryStore()
    const parking = { store, namespace: 'orders', parkAfter: { attempts: 2 } }
    const orders = failing(parking, seen.meterProvider)
    const shows = failing({ store, namespace: 'shows' }, seen.meterProvider)
    expect(await points(seen)).toEqual([
      'orders failing 0',
      'orders parked 0',
      'shows failing 0',
      'shows parked 0',
    ])
    for (const id of ['ord_1', 'ord_1', 'ord_2', 'ord_3']) await orders.send(id)
    await shows.send('ord_1')
    expect(await points(seen)).toEqual([
      'orders failing 2',
      'orders parked 1',
      'shows failing 1',
      'shows parked 0',
    ])
    orders.handler.mockImplementation(() => {})
    await orders.receiver.replay({})
    expect(await points(seen)).toEqual([
      'orders failing 0',
      'orders parked 0',
      'shows failing 1',
      'shows parked 0',
    ])
  })

  test('has those of an inbox, and is absent for what keeps none, or belongs to a request', async () => {
    const { inbox } = ledgerInbox()
    const { store } = storeWith({})
    for (const [backend, expected] of [
      [{ inbox: inbox as never }, ['orders failing 1', 'orders parked 0']],
      [{ store }, []],
      [{ store: () => memoryStore() }, []],
    ] as const) {
      const seen = telemetry()
      await failing(backend, seen.meterProvider).send('ord_1')
      expect(await points(seen)).toEqual(expected)
    }
  })

  test('is there at once for a provider that is registered before, and from the first delivery for a later one', async () => {
    const count = vi.fn(() => 3)
    const early = telemetry()
    early.register()
    const { send } = failing({ store: counting(count) })
    expect(await points(early)).toEqual(['orders failing 3', 'orders parked 3'])
    unregister()
    const late = telemetry()
    late.register()
    expect(await points(late)).toEqual([])
    await send('ord_1')
    expect(await points(late)).toEqual(['orders failing 3', 'orders parked 3'])
  })

  test.each<[string, () => unknown]>([
    [
      'throws',
      () => {
        throw new Error('down')
      },
    ],
    ['rejects', () => Promise.reject(new Error('down'))],
    ['is NaN', () => Number.NaN],
  ])('has no point while a count %s, and has one again afterwards', async (_, broken) => {
    const seen = telemetry()
    const count = vi.fn<() => unknown>(() => 1)
    failing({ store: counting(count) }, seen.meterProvider)
    count.mockImplementation(broken)
    expect(await points(seen)).toEqual([])
    // An unhandled rejection would fail this test.
    await setImmediate()
    count.mockImplementation(() => 1)
    expect(await points(seen)).toEqual(['orders failing 1', 'orders parked 1'])
  })

  describe('while a count hangs', () => {
    type Count = (filter: { state?: FailureState }) => unknown

    beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance', 'Date'] }))

    /** Collects at once, or for the two seconds that a collection waits. */
    function collecting(count: Count) {
      const seen = telemetry()
      failing({ store: counting(count) }, seen.meterProvider)
      return {
        now: () => points(seen),
        async waiting() {
          const collected = points(seen)
          await vi.advanceTimersByTimeAsync(2_000)
          return collected
        },
      }
    }

    test('has no point after two seconds, and asks for no second count', async () => {
      const hanging = deferred<number>()
      const count = vi.fn<Count>(() => hanging.promise)
      const collect = collecting(count)
      for (let collections = 0; collections < 3; collections++) expect(await collect.waiting()).toEqual([])
      expect(count.mock.calls).toEqual([[{ namespace: 'orders', state: 'failing' }]])
      count.mockImplementation(({ state }) => (state === 'parked' ? 2 : 1))
      hanging.resolve(5)
      await vi.advanceTimersByTimeAsync(0)
      expect(await collect.now()).toEqual(['orders failing 1', 'orders parked 2'])
    })

    test('asks again twelve seconds after the last statement began, because it may never settle', async () => {
      const [first, second] = [deferred<number>(), deferred<number>()]
      const count = vi.fn<Count>(({ state }) => (state === 'failing' ? first : second).promise)
      const collect = collecting(count)
      expect(await collect.waiting()).toEqual([])
      await vi.advanceTimersByTimeAsync(7_000)
      first.resolve(1)
      await vi.advanceTimersByTimeAsync(11_999)
      expect([await collect.waiting(), count.mock.calls.length]).toEqual([[], 2])
      count.mockImplementation(() => 3)
      expect(await collect.now()).toEqual(['orders failing 3', 'orders parked 3'])
      // Its late end changes nothing.
      second.resolve(5)
      await vi.advanceTimersByTimeAsync(0)
      expect(await collect.now()).toEqual(['orders failing 3', 'orders parked 3'])
    })
  })
})

test('a replay is marked on its span and on the counter, and a delivery is not', async () => {
  const seen = telemetry()
  seen.register()
  const { handler, receiver, send } = failing({ store: memoryStore() })
  await send('ord_1')
  handler.mockImplementation(() => {})
  await receiver.replay({})
  const marked = (all: readonly { attributes: Readonly<Record<string, unknown>> }[]) =>
    all.map(({ attributes }) => [attributes['tix_webhooks.outcome'], attributes['tix_webhooks.replayed']])
  const expected = [
    ['failed', undefined],
    ['handled', true],
  ]
  expect(marked(seen.spans())).toEqual(expected)
  expect(marked(await seen.series('tix_webhooks.deliveries'))).toEqual(expected)
})
