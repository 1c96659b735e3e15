import { describe, expect, test } from 'vitest'
import type { SendResult } from '../../../engine/network/send.js'
import { DeliveryLog } from '../../../engine/record/delivery-log.js'
import { listDeliveries } from '../../../engine/record/delivery-queries.js'
import { LIMITS } from '../../../engine/record/limits.js'
import type { Attempt, Delivery } from '../../../engine/record/records.js'
import { noDeliveries } from '../../../engine/record/records.js'
import { type EngineFixtureOptions, engineFixture, START_MS } from '../../support/engine-fixture.js'
import { lower } from '../../support/lowered.js'
import { HOUR_MS } from '../../support/ticketing.js'

const answer = (status: number, body = ''): SendResult => ({
  response: { status, headers: {}, body, truncated: false },
})

/** An engine whose receiver returns `answered`, and both it and its restored copy. */
function logged(options: EngineFixtureOptions = {}) {
  const receiver = { answered: answer(200) }
  const fixture = engineFixture({ send: async () => receiver.answered, ...options })
  const { engine, clock, publish } = fixture
  return {
    ...fixture,
    receiver,
    async publishMany(count: number) {
      const ids = Array.from({ length: count }, () => publish())
      await clock.idle()
      return ids
    },
    copies() {
      const restored = fixture.make()
      restored.restore(JSON.parse(JSON.stringify(engine.snapshot())))
      return [engine, restored]
    },
  }
}

const NONE = { matching: 0, genuine: 0, forgotten: 0, parked: 0 }

describe('of deliveries that have ended', () => {
  test('[N118] the latest 1,000 to end are kept', { tags: ['slow'] }, async () => {
    const { engine, clock, receiver, publishMany } = logged({ jitter: 0 })
    receiver.answered = answer(500)
    const [slow = ''] = await publishMany(1)
    receiver.answered = answer(200)
    const ids = await publishMany(1500)
    expect(engine.counts()).toEqual({ ...noDeliveries(), retrying: 1, delivered: 1000 })
    expect(ids.map((id) => engine.delivery(id) !== undefined)).toEqual(ids.map((_, index) => index >= 500))
    await clock.advanceBy(5000)
    expect(engine.delivery(slow)?.status).toBe('delivered')
    expect(engine.delivery(ids[500] ?? '')).toBeUndefined()
    expect(engine.deliveries({ limit: 5000 })).toHaveLength(1000)
  })

  test('[N142] those no longer kept are counted, and scenarios apart', { tags: ['slow'] }, async () => {
    const { engine, clock, receiver, publish, publishMany, sendScenario, copies } = logged({ schedule: [] })
    receiver.answered = answer(500)
    publish('order.created')
    await clock.idle()
    await sendScenario('stale')
    expect(engine.tally({ status: 'failed' })).toEqual({ ...NONE, matching: 1, genuine: 1 })
    expect(engine.tally()).toEqual({ ...NONE, matching: 2, genuine: 1 })
    expect(engine.tally({ status: 'scenario' })).toMatchObject({ matching: 1, genuine: 0 })
    receiver.answered = answer(200)
    await publishMany(1001)
    for (const one of copies()) {
      expect(one.totals()).toEqual({ ...noDeliveries(), delivered: 1001, failed: 1, passed: 1 })
      expect(one.tally({ status: 'failed', type: 'order.created' })).toEqual({ ...NONE, forgotten: 1 })
      const delivered = { matching: 1000, genuine: 1000, forgotten: 1 }
      expect(one.tally({ status: 'delivered' })).toEqual({ ...NONE, ...delivered })
      expect(one.tally({ status: 'retrying' })).toEqual(NONE)
      one.reset()
      expect(one.tally()).toEqual(NONE)
    }
  })

  test('[N142] parked ones are counted, without scenarios, even if they are no longer kept', async () => {
    lower(LIMITS, { settled: 3, bodies: 1 })
    const { engine, clock, receiver, publish, publishMany, sendScenario, copies } = logged()
    receiver.answered = answer(200, '{"outcome":"parked"}')
    const [first = ''] = [publish('order.created'), publish('order.created')]
    await clock.idle()
    await sendScenario('valid')
    expect(engine.parked()).toBe(2)
    const failedOrders = engine.tally({ status: 'failed', type: 'order.created' })
    expect(failedOrders).toMatchObject({ matching: 0, parked: 2 })
    expect(engine.tally({ type: 'event.*' })).toMatchObject({ matching: 1, parked: 0 })
    receiver.answered = answer(500)
    await engine.resend(first)
    expect([engine.delivery(first)?.status, engine.parked()]).toEqual(['delivered', 2])
    receiver.answered = answer(200, '{"outcome":"duplicate"}')
    await engine.resend(first)
    expect([engine.parked(), engine.tally().parked]).toEqual([1, 1])
    await publishMany(3)
    for (const one of copies()) {
      expect([one.parked(), one.tally().parked, one.counts().delivered]).toEqual([1, 1, 3])
      one.reset()
      expect([one.parked(), one.tally().parked]).toEqual([0, 0])
    }
  })
})

describe('the log', () => {
  const createdAt = '2031-03-01T09:00:00.000Z'
  const delivery = (index: number): Delivery => ({
    id: `dlv_${index}`,
    message: { id: `msg_${index}`, mode: 'test', type: 'a', createdAt, body: '{}' },
    endpointId: 'we_1',
    status: 'pending',
    firstAtMs: START_MS,
    nextAtMs: START_MS,
    attempts: [],
  })
  const attempt = (number: number, id: string): Attempt => ({
    id,
    number,
    trigger: 'auto',
    virtualMs: START_MS,
    realMs: 0,
    url: 'http://localhost/',
    requestHeaders: {},
    sentBody: 'sent',
    response: { status: 500, headers: {}, body: 'answer', truncated: false },
    durationMs: 1,
  })

  test('has these bounds', () => {
    const bounds = { settled: 1000, unsettled: 200_000, attemptsOfOne: 100, attempts: 20_000, bodies: 1000 }
    expect(LIMITS).toEqual(bounds)
  })

  test('drops the oldest attempts at its bound, of whichever delivery', () => {
    lower(LIMITS, { attempts: 2000 })
    const log = new DeliveryLog()
    const deliveries = Array.from({ length: 300 }, (_, index) => log.add(delivery(index), 1))
    for (let number = 1; number <= 10; number++) {
      for (const [index, tracked] of deliveries.entries()) {
        log.addAttempt(tracked, attempt(number, `att_${index}_${number}`))
      }
    }
    const kept = listDeliveries(log, { limit: 5000 }).flatMap(({ attempts }) => attempts)
    expect(kept).toHaveLength(2000)
    expect(deliveries[0]?.delivery.attempts.map(({ number }) => number)).toEqual([5, 6, 7, 8, 9, 10])
    expect(deliveries[299]?.delivery.attempts.map(({ number }) => number)).toEqual([4, 5, 6, 7, 8, 9, 10])
  })

  test('keeps the bodies of 1,000 answers, and marks the others as truncated', () => {
    const log = new DeliveryLog()
    const deliveries = Array.from({ length: 1500 }, (_, index) => log.add(delivery(index), 1))
    for (const [index, tracked] of deliveries.entries()) log.addAttempt(tracked, attempt(1, `att_${index}`))
    const bodies = listDeliveries(log, { limit: 5000 }).map(({ attempts }) => attempts[0]?.response)
    expect(bodies.filter((one) => one?.body === 'answer' && !one.truncated)).toHaveLength(1000)
    expect(bodies.filter((one) => one?.body === '' && one.truncated)).toHaveLength(500)
    expect(deliveries[499]?.delivery.attempts[0]).toMatchObject({ sentBody: '', inexact: true })
    expect(deliveries[500]?.delivery.attempts[0]).toHaveProperty('sentBody', 'sent')
  })

  test('keeps the latest 100 attempts of one delivery, in the order of their beginning', () => {
    const log = new DeliveryLog()
    const tracked = log.add(delivery(1), 1)
    for (let number = 1; number <= 150; number++) {
      log.addAttempt(tracked, attempt(number % 2 === 0 ? number - 1 : number + 1, `att_${number}`))
    }
    const numbers = tracked.delivery.attempts.map(({ number }) => number)
    expect(numbers).toEqual(Array.from({ length: 100 }, (_, index) => index + 51))
  })
})

test('a new delivery is skipped if too many are pending, and says why', async () => {
  lower(LIMITS, { unsettled: 2000 })
  const { engine, clock, publish } = engineFixture({ answer: () => 500 })
  publish()
  const saved = engine.snapshot() as { deliveries: object[] }
  const [one] = saved.deliveries
  const deliveries = Array.from({ length: LIMITS.unsettled }, (_, index) => ({
    ...one,
    id: `dlv_${index}`,
    nextAtMs: START_MS + HOUR_MS,
  }))
  engine.restore({ ...saved, deliveries })
  const id = publish()
  expect(engine.delivery(id)).toMatchObject({
    status: 'skipped',
    reason: '2000 deliveries are pending, the maximum: advance the clock, or reset.',
  })
  expect(engine.counts()).toMatchObject({ pending: 2000, skipped: 1 })
  await clock.idle()
  engine.reset()
  expect(engine.counts()).toMatchObject({ pending: 0, skipped: 0 })
})
