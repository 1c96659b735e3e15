import { verifySignature } from 'tix-webhooks'
import { describe, expect, test } from 'vitest'
import { SECRET } from '../../../test/support/deliveries.js'
import { turns } from '../../../test/support/promises.js'
import {
  barrier,
  engineFixture,
  type FixtureAnswer,
  HOUR_MS,
  offsetsOf,
  START_MS,
} from '../support/engine-fixture.js'

describe('a resend', () => {
  test('[N129] that succeeds ends the delivery, and cancels the retry that was due', async () => {
    const { engine, clock, publish, at, received } = engineFixture({
      answer: (_, count) => (count === 1 ? 500 : 200),
    })
    const id = publish()
    await clock.idle()
    const attempt = await engine.resend(id)
    expect(attempt).toMatchObject({ number: 2, trigger: 'manual', response: { status: 200 } })
    expect(at(id)).toMatchObject({ status: 'delivered', attempts: [{ trigger: 'auto' }, attempt] })
    expect([at(id).nextAtMs, clock.nextAt()]).toEqual([undefined, undefined])
    await clock.advanceBy(72 * HOUR_MS)
    expect(received).toHaveLength(2)
  })

  test('[N130] that fails changes nothing: all 11 attempts of the schedule are made', async () => {
    const { engine, clock, publish, at } = engineFixture({ answer: () => 500, jitter: 0 })
    const id = publish()
    await clock.advanceBy(10_000)
    expect(await engine.resend(id)).toMatchObject({ number: 3, trigger: 'manual', response: { status: 500 } })
    expect(at(id)).toMatchObject({ status: 'retrying', nextAtMs: START_MS + 60_000 })
    await clock.advanceBy(72 * HOUR_MS)
    expect(at(id).status).toBe('failed')
    expect(at(id).attempts.filter(({ trigger }) => trigger === 'auto')).toHaveLength(11)
    expect(offsetsOf(at(id)).slice(0, 4)).toEqual([0, 5, 10, 60])
  })

  test.each([
    ['failed', 200, 'delivered'],
    ['failed', 500, 'failed'],
    ['delivered', 200, 'delivered'],
    ['delivered', 500, 'delivered'],
    ['skipped', 200, 'delivered'],
    ['skipped', 500, 'skipped'],
  ] as const)('[N131] of a %s delivery that is answered %d leaves it %s', async (status, answer, after) => {
    const first = status === 'failed' ? 500 : 200
    const { engine, clock, publish, at, endpointId } = engineFixture({
      answer: (_, count) => (count === 1 && status !== 'skipped' ? first : answer),
      schedule: [],
    })
    if (status === 'skipped') engine.updateEndpoint(endpointId, { enabled: false })
    const id = publish()
    await clock.idle()
    const { reason, attempts } = at(id)
    expect(at(id).status).toBe(status)
    await engine.resend(id)
    expect(at(id).status).toBe(after)
    expect(at(id).attempts).toHaveLength(attempts.length + 1)
    expect(at(id).reason).toBe(after === 'delivered' ? undefined : reason)
    expect(clock.nextAt()).toBeUndefined()
  })

  test('before the first attempt replaces it', async () => {
    const { engine, clock, publish, at, received } = engineFixture({ serial: true })
    const id = publish()
    const resent = engine.resend(id)
    await clock.advanceBy(72 * HOUR_MS)
    await resent
    expect(at(id)).toMatchObject({ status: 'delivered', attempts: [{ trigger: 'manual' }] })
    expect(received).toHaveLength(1)
  })

  test('[N131] to another URL is recorded, and decides nothing, even if it succeeds', async () => {
    const { engine, clock, publish, at, received } = engineFixture({
      answer: ({ url }) => (url.endsWith('/other') ? 200 : 500),
      jitter: 0,
    })
    const id = publish()
    await clock.idle()
    const attempt = await engine.resend(id, { to: 'http://localhost:4000/other' })
    expect(attempt).toMatchObject({ url: 'http://localhost:4000/other', response: { status: 200 } })
    expect(at(id)).toMatchObject({ status: 'retrying', nextAtMs: START_MS + 5000, attempts: [{}, attempt] })
    await verifySignature(received[1]?.body ?? '', received[1]?.header, { secret: SECRET })
  })
})

describe('a resend while an attempt of the schedule is in progress', () => {
  /** Both are in progress: the automatic attempt is request 1, the resend request 2. */
  async function racing(schedule?: readonly number[]) {
    const [auto, manual] = [barrier<number>(), barrier<number>()]
    const fixture = engineFixture({
      answer: (_, count): FixtureAnswer => [auto, manual][count - 1]?.opened ?? 500,
      jitter: 0,
      ...(schedule && { schedule }),
    })
    const { engine, publish, received, at } = fixture
    const id = publish()
    while (received.length < 1) await turns(1)
    const resent = engine.resend(id)
    while (received.length < 2) await turns(1)
    const failFirst = async () => {
      auto.open(500)
      while (at(id).status === 'pending') await turns(1)
      return at(id).status
    }
    return { ...fixture, id, auto, manual, resent, failFirst }
  }

  test('and succeeds first: the attempt that fails later changes nothing', async () => {
    const { clock, at, received, id, auto, manual, resent } = await racing()
    manual.open(200)
    await resent
    expect(at(id).status).toBe('delivered')
    auto.open(500)
    await clock.advanceBy(72 * HOUR_MS)
    expect(at(id)).toMatchObject({
      status: 'delivered',
      attempts: [
        { number: 1, trigger: 'auto', response: { status: 500 } },
        { number: 2, trigger: 'manual', response: { status: 200 } },
      ],
    })
    expect(received).toHaveLength(2)
  })

  test.each([
    ['a retry that is due is cancelled', undefined, 'retrying'],
    ['a delivery that has failed is delivered', [], 'failed'],
  ] as const)('and succeeds last: %s', async (_, schedule, status) => {
    const { clock, at, received, id, manual, resent, failFirst } = await racing(schedule)
    expect(await failFirst()).toBe(status)
    manual.open(200)
    await resent
    await clock.advanceBy(72 * HOUR_MS)
    expect(at(id).status).toBe('delivered')
    expect(at(id).reason).toBeUndefined()
    expect(received).toHaveLength(2)
  })

  test.each([true, false])('and fails, before the success of the other: %s', async (isBefore) => {
    const { clock, at, id, auto, manual, resent } = await racing()
    const answers = [() => manual.open(500), () => auto.open(200)]
    for (const answer of isBefore ? answers : answers.reverse()) {
      answer()
      await turns(1)
    }
    await resent
    await clock.idle()
    expect(at(id).status).toBe('delivered')
  })

  test('is awaited by an advance', async () => {
    const { clock, at, id, auto, manual } = await racing()
    auto.open(500)
    let advanced = false
    const advance = clock.advanceBy(72 * HOUR_MS).then(() => {
      advanced = true
    })
    await turns(1)
    expect(advanced).toBe(false)
    manual.open(200)
    await advance
    expect(at(id).status).toBe('delivered')
  })
})
