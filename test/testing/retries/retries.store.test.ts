import { memoryStore, type WebhookOptions } from 'tix-webhooks'
import { tixWebhooks } from 'tix-webhooks/fetch'
import {
  createTestClock,
  deliverWithRetries,
  RETRY_SCHEDULE,
  signedDelivery,
  type TestClock,
  type TestDelivery,
} from 'tix-webhooks/testing'
import { describe, expect, test } from 'vitest'
import { SECRET } from '../../support/deliveries.js'
import { deferred } from '../../support/promises.js'

const HOUR_MS = 3_600_000

/** A clock, a store by that clock, and processes that share both. */
function setUp() {
  const clock = createTestClock()
  const store = memoryStore({ now: clock.now })
  return {
    clock,
    store,
    process: (on: WebhookOptions['on'], options: Partial<WebhookOptions> = {}) =>
      processOf(on, { store, now: clock.now, ...options }),
  }
}

function processOf(on: WebhookOptions['on'], options: Partial<WebhookOptions>) {
  const outcomes: string[] = []
  const POST = tixWebhooks({
    secret: SECRET,
    namespace: 'test',
    on,
    onError: () => {},
    onDelivery: ({ outcome }) => outcomes.push(outcome),
    ...options,
  })
  return { outcomes, send: (delivery: TestDelivery) => POST(delivery.toRequest('/hooks')) }
}

const newDelivery = (clock?: TestClock) =>
  signedDelivery('order.created', { secret: SECRET, ...(clock && { now: clock.now }) })

const fail = (): never => {
  throw new Error('not yet')
}

describe('each attempt', () => {
  test('is signed again over the same body: with the first signature it would be refused when five minutes are over', async () => {
    const { clock, process } = setUp()
    const { send } = process({ 'order.created': fail })
    const delivery = await newDelivery(clock)
    const sent: TestDelivery[] = []
    const sendNew = (signed: TestDelivery) => {
      sent.push(signed)
      return send(signed)
    }
    const anew = await deliverWithRetries(sendNew, delivery, { clock, schedule: [300, 301] })
    expect(anew.map(({ status }) => status)).toEqual([500, 500, 500])
    expect(sent.map(({ body }) => body)).toEqual([delivery.body, delivery.body, delivery.body])
    expect(new Set(sent.map(({ header }) => header)).size).toBe(3)

    const sendOld = () => send(old)
    const old = await newDelivery(clock)
    const again = await deliverWithRetries(sendOld, old, { clock, schedule: [300, 301] })
    expect(again.map(({ status }) => status)).toEqual([500, 500, 401])
  })

  test('is signed as the delivery was, by all its secrets', async () => {
    const signature = { header: 'x-tix', encoding: 'base64', timestampUnit: 'ms' } as const
    const delivery = await signedDelivery('event.published', { secret: ['whsec_old', SECRET], signature })
    const { clock, process } = setUp()
    for (const secret of ['whsec_old', SECRET]) {
      const { outcomes, send } = process({ 'order.created': fail }, { secret, signature })
      await deliverWithRetries(send, delivery, { clock })
      expect(outcomes).toEqual(['unhandled'])
    }
  })

  test('is signed at the real time where there is no clock, for a receiver that has none either', async () => {
    const { outcomes, send } = processOf({ 'order.created': fail }, { store: memoryStore() })
    const signedAt: number[] = []
    const sendAndNote = (delivery: TestDelivery) => {
      signedAt.push(Number(delivery.headers['x-service-signature']?.slice(2, 12)) * 1000)
      return send(delivery)
    }
    const before = Date.now()
    // Signed three days ago: what counts is when it is sent.
    const old = await signedDelivery('order.created', { secret: SECRET, now: () => before - 72 * HOUR_MS })
    const attempts = await deliverWithRetries(sendAndNote, old)
    expect(attempts.at(-1)).toMatchObject({ number: 11, afterSeconds: 259_200, status: 500 })
    expect(outcomes).toEqual(Array(11).fill('failed'))
    for (const ms of signedAt) {
      expect(ms).toBeGreaterThan(before - 1000)
      expect(ms).toBeLessThanOrEqual(Date.now())
    }
  })
})

describe('three days with a store', () => {
  test('answers that are lost on their way make duplicates, and the handler runs once', async () => {
    const { clock, process } = setUp()
    let runs = 0
    const { outcomes, send } = process(
      { 'order.created': () => void runs++ },
      { retentionSeconds: 73 * 3600 },
    )
    const delivery = await newDelivery()
    const attempts = await deliverWithRetries(
      async (signed) => {
        await send(signed)
        throw new Error('socket hang up')
      },
      delivery,
      { clock },
    )
    expect(attempts.map(({ afterSeconds }) => afterSeconds)).toEqual([0, ...RETRY_SCHEDULE])
    expect(outcomes).toEqual(['handled', ...Array(10).fill('duplicate')])
    expect(runs).toBe(1)

    clock.advance(HOUR_MS - 1)
    await send(await delivery.signAgain({ now: clock.now }))
    expect(outcomes.at(-1)).toBe('duplicate')
    clock.advance(1)
    await send(await delivery.signAgain({ now: clock.now }))
    expect([outcomes.at(-1), runs]).toEqual(['handled', 2])
  })

  test('a process that is killed in the middle of its handler holds the event until its lease is over, and no longer', async () => {
    const { clock, process } = setUp()
    const started = deferred()
    const isDead = deferred()
    const killed = process({
      'order.created': async () => {
        started.resolve()
        await isDead.promise
        fail()
      },
    })
    const attempted: unknown[] = []
    const next = process({ 'order.created': (_event, { attempt }) => void attempted.push(attempt) })

    const delivery = await newDelivery()
    let first: Promise<unknown> | undefined
    const attempts = await deliverWithRetries(
      async (signed) => {
        if (first !== undefined) return next.send(signed)
        first = killed.send(signed)
        await started.promise
        throw new Error('socket hang up')
      },
      delivery,
      { clock, schedule: [5, 10, 20, 40, 80] },
    )
    // Retry-After is 30 s, the longest there is, and then 25 s, the rest of the minute.
    expect(attempts.map(({ afterSeconds, status }) => [afterSeconds, status])).toEqual([
      [0, undefined],
      [5, 503],
      [35, 503],
      [60, 200],
    ])
    expect(next.outcomes).toEqual(['in_flight', 'in_flight', 'handled'])
    expect(attempted).toEqual([2])

    // Should it live after all, the record is no longer its own.
    isDead.resolve()
    await first
    await next.send(await delivery.signAgain({ now: clock.now }))
    expect(next.outcomes.at(-1)).toBe('duplicate')
  })

  test('a store that is down for a day costs nothing but time', async () => {
    const { clock, store, process } = setUp()
    const upAtMs = clock.now() + 24 * HOUR_MS
    const outage: typeof store = {
      ...store,
      claim: async (request) =>
        clock.now() < upAtMs ? Promise.reject(new Error('down')) : store.claim(request),
    }
    let runs = 0
    const { outcomes, send } = process({ 'order.created': () => void runs++ }, { store: outage })
    const attempts = await deliverWithRetries(send, await newDelivery(), { clock })
    expect(attempts.at(-1)).toMatchObject({ afterSeconds: 86_400, status: 200 })
    expect(outcomes).toEqual([...Array(8).fill('unavailable'), 'handled'])
    expect(runs).toBe(1)
  })
})
