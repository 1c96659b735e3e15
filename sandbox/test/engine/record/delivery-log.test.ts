import { describe, expect, test } from 'vitest'
import type { SendResult } from '../../../engine/network/send.js'
import { DeliveryLog } from '../../../engine/record/delivery-log.js'
import { listDeliveries } from '../../../engine/record/delivery-queries.js'
import { LIMITS } from '../../../engine/record/limits.js'
import type { Attempt, Delivery } from '../../../engine/record/records.js'
import { noDeliveries } from '../../../engine/record/records.js'
import { engineFixture, HOUR_MS, START_MS } from '../../support/engine-fixture.js'
import { lower } from '../../support/lowered.js'

/** A sender that is as fast as can be. */
const sending = (result: SendResult) => async () => result
const answer = (status: number, body = ''): SendResult => ({
  response: { status, headers: {}, body, truncated: false },
})

describe('of deliveries that have ended', () => {
  test('[N118] the latest 1,000 are kept, by their end and not by their beginning', {
    tags: ['slow'],
  }, async () => {
    let status = 500
    const { engine, clock, publish } = engineFixture({ send: async () => answer(status), jitter: 0 })
    const slow = publish()
    await clock.idle()
    status = 200
    const ids = Array.from({ length: 1500 }, () => publish())
    await clock.idle()
    expect(engine.counts()).toEqual({ ...noDeliveries(), retrying: 1, delivered: 1000 })
    expect(ids.map((id) => engine.delivery(id) !== undefined)).toEqual(ids.map((_, index) => index >= 500))
    await clock.advanceBy(5000)
    expect(engine.delivery(slow)?.status).toBe('delivered')
    expect(engine.delivery(ids[500] ?? '')).toBeUndefined()
    expect(engine.counts().delivered).toBe(1000)
    expect(engine.deliveries({ limit: 5000 })).toHaveLength(1000)
  })

  test('[N142] those that are no longer kept are counted, what a scenario sent apart', {
    tags: ['slow'],
  }, async () => {
    let status = 500
    const fixture = engineFixture({ send: async () => answer(status), schedule: [] })
    const { engine, clock, publish, endpointId } = fixture
    publish('order.created')
    await clock.idle()
    const message = engine.createMessage({ mode: 'test', type: 'event.published', data: {} })
    await engine.deliverScenario(endpointId, message, {
      passes: () => true,
      scenario: 'stale',
      requests: [{ body: '', headers: {} }],
    })
    expect(engine.tally({ status: 'failed' })).toEqual({ matching: 1, genuine: 1, forgotten: 0, parked: 0 })
    expect(engine.tally()).toEqual({ matching: 2, genuine: 1, forgotten: 0, parked: 0 })
    expect(engine.tally({ status: 'scenario' })).toMatchObject({ matching: 1, genuine: 0 })
    status = 200
    for (let count = 0; count < 1001; count++) publish()
    await clock.idle()
    const counts = { ...noDeliveries(), delivered: 1001, failed: 1, passed: 1 }
    const failed = { matching: 0, genuine: 0, forgotten: 1, parked: 0 }
    const restored = fixture.make()
    restored.restore(JSON.parse(JSON.stringify(engine.snapshot())))
    for (const one of [engine, restored]) {
      expect(one.totals()).toEqual(counts)
      expect(one.tally({ status: 'failed', type: 'order.created' })).toEqual(failed)
      expect(one.tally({ status: 'delivered' })).toEqual({
        matching: 1000,
        genuine: 1000,
        forgotten: 1,
        parked: 0,
      })
      expect(one.tally({ status: 'retrying' })).toEqual({ matching: 0, genuine: 0, forgotten: 0, parked: 0 })
      one.reset()
      expect(one.tally()).toEqual({ matching: 0, genuine: 0, forgotten: 0, parked: 0 })
    }
  })

  test('[N142] parked ones are counted, those of scenarios apart, also when they are no longer kept', async () => {
    lower(LIMITS, { settled: 3, bodies: 1 })
    let body = '{"outcome":"parked"}'
    const fixture = engineFixture({ send: async () => answer(200, body) })
    const { engine, clock, publish, endpointId } = fixture
    const [first = ''] = [publish('order.created'), publish('order.created')]
    await clock.idle()
    const message = engine.createMessage({ mode: 'test', type: 'event.published', data: {} })
    await engine.deliverScenario(endpointId, message, {
      passes: () => true,
      scenario: 'valid',
      requests: [{ body: '', headers: {} }],
    })
    expect(engine.parked()).toBe(2)
    expect(engine.tally({ status: 'failed', type: 'order.created' })).toMatchObject({
      matching: 0,
      parked: 2,
    })
    expect(engine.tally({ type: 'event.*' })).toMatchObject({ matching: 1, parked: 0 })
    body = '{"outcome":"duplicate"}'
    await engine.resend(first)
    expect([engine.parked(), engine.tally().parked]).toEqual([1, 1])
    for (let count = 0; count < 3; count++) publish()
    await clock.idle()
    const restored = fixture.make()
    restored.restore(JSON.parse(JSON.stringify(engine.snapshot())))
    for (const one of [engine, restored]) {
      expect([one.parked(), one.tally().parked, one.counts().delivered]).toEqual([1, 1, 3])
      one.reset()
      expect([one.parked(), one.tally().parked]).toEqual([0, 0])
    }
  })

  test('one that is resent counts once, and keeps its place', { tags: ['slow'] }, async () => {
    const { engine, clock, publish } = engineFixture({ send: sending(answer(500)), schedule: [] })
    const ids = Array.from({ length: 1000 }, () => publish())
    await clock.idle()
    for (const id of ids.slice(0, 10)) await engine.resend(id)
    expect(engine.counts().failed).toBe(1000)
    publish()
    await clock.idle()
    expect(engine.delivery(ids[0] ?? '')).toBeUndefined()
    expect(engine.delivery(ids[1] ?? '')?.attempts).toHaveLength(2)
  })

  test('one that is forgotten while it is resent is not recorded, and its attempt is returned nevertheless', {
    tags: ['slow'],
  }, async () => {
    const { engine, clock, publish } = engineFixture({ schedule: [] })
    const id = publish()
    await clock.idle()
    const resent = engine.resend(id)
    for (let count = 0; count < 1000; count++) publish()
    await clock.idle()
    expect(engine.delivery(id)).toBeUndefined()
    expect(await resent).toMatchObject({ trigger: 'manual', response: { status: 200 } })
  })
})

describe('the log', () => {
  const delivery = (index: number, status: Delivery['status'] = 'pending'): Delivery => ({
    id: `dlv_${index}`,
    message: {
      id: `msg_${index}`,
      mode: 'test',
      type: 'a',
      createdAt: '2031-03-01T09:00:00.000Z',
      body: '{}',
    },
    endpointId: 'we_1',
    status,
    firstAtMs: START_MS,
    ...(status === 'pending' && { nextAtMs: START_MS }),
    attempts: [],
  })
  const attempt = (number: number, id: string, body = 'answer'): Attempt => ({
    id,
    number,
    trigger: 'auto',
    virtualMs: START_MS,
    realMs: 0,
    url: 'http://localhost/',
    requestHeaders: {},
    sentBody: 'sent',
    response: { status: 500, headers: {}, body, truncated: false },
    durationMs: 1,
  })

  test('has these bounds', () => {
    expect(LIMITS).toEqual({
      settled: 1000,
      unsettled: 200_000,
      attemptsOfOne: 100,
      attempts: 20_000,
      bodies: 1000,
    })
  })

  test('holds so many deliveries that are on their way, and is then full until one has ended', () => {
    lower(LIMITS, { unsettled: 2000 })
    const log = new DeliveryLog()
    for (let index = 0; index < LIMITS.unsettled - 1; index++) log.add(delivery(index), 1)
    expect(log.isFull).toBe(false)
    const last = log.add(delivery(LIMITS.unsettled), 1)
    expect(log.isFull).toBe(true)
    log.change(last, { status: 'failed', nextAtMs: undefined })
    expect(log.isFull).toBe(false)
  })

  test('keeps so many attempts, and drops the oldest of them, whichever delivery they are of', () => {
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

  test('keeps the bodies of 1,000 answers, and says of the others that they are cut', () => {
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

test('if so many deliveries are on their way, a new one is skipped, and says why', async () => {
  lower(LIMITS, { unsettled: 2000 })
  const { engine, clock, publish } = engineFixture({ send: sending(answer(500)) })
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
