import { verifySignature } from 'tix-webhooks'
import { describe, expect, test } from 'vitest'
import { SECRET } from '../../../test/support/deliveries.js'
import {
  barrier,
  engineFixture,
  type FixtureAnswer,
  HOUR_MS,
  offsetsOf,
  START_MS,
} from '../support/engine-fixture.js'

describe('a resend that succeeds', () => {
  test('[N129] ends the delivery, and the retry that was due is cancelled', async () => {
    const { engine, clock, publish, at, received } = engineFixture({
      answer: (_, count) => (count === 1 ? 500 : 200),
    })
    const id = publish()
    await clock.idle()
    expect(at(id).status).toBe('retrying')
    const attempt = await engine.resend(id)
    expect(attempt).toMatchObject({ number: 2, trigger: 'manual', response: { status: 200 } })
    expect(at(id)).toMatchObject({ status: 'delivered', attempts: [{ trigger: 'auto' }, attempt] })
    expect(at(id).nextAtMs).toBeUndefined()
    expect(clock.nextAt()).toBeUndefined()
    await clock.advanceBy(72 * HOUR_MS)
    expect(received).toHaveLength(2)
  })

  test.each(['failed', 'delivered', 'skipped'] as const)(
    '[N131] is possible for one that is %s',
    async (status) => {
      const { engine, clock, publish, at, endpointId } = engineFixture({
        answer: (_, count) => (status === 'failed' && count === 1 ? 500 : 200),
        schedule: [],
      })
      if (status === 'skipped') engine.updateEndpoint(endpointId, { enabled: false })
      const id = publish()
      await clock.idle()
      expect(at(id).status).toBe(status)
      await engine.resend(id)
      expect(at(id).status).toBe('delivered')
      expect(at(id).reason).toBeUndefined()
    },
  )

  test('before the first attempt, which waits for its turn: that one is not made', async () => {
    const { engine, clock, publish, at, received } = engineFixture({ serial: true })
    const id = publish()
    const resent = engine.resend(id)
    await clock.advanceBy(72 * HOUR_MS)
    await resent
    expect(at(id)).toMatchObject({ status: 'delivered', attempts: [{ trigger: 'manual' }] })
    expect(received).toHaveLength(1)
  })
})

describe('a resend that fails', () => {
  test('[N130] changes nothing: the schedule goes on as it was, all 11 attempts of it', async () => {
    const { engine, clock, publish, at } = engineFixture({ answer: () => 500, jitter: 0 })
    const id = publish()
    await clock.advanceBy(10_000)
    const { nextAtMs } = at(id)
    expect(nextAtMs).toBe(START_MS + 60_000)
    expect(await engine.resend(id)).toMatchObject({ number: 3, trigger: 'manual', response: { status: 500 } })
    expect(at(id)).toMatchObject({ status: 'retrying', nextAtMs })
    await clock.advanceBy(72 * HOUR_MS)
    const { attempts, status } = at(id)
    expect(status).toBe('failed')
    expect(attempts.filter(({ trigger }) => trigger === 'auto')).toHaveLength(11)
    expect(offsetsOf(at(id)).slice(0, 4)).toEqual([0, 5, 10, 60])
  })

  test.each(['failed', 'delivered', 'skipped'] as const)('leaves one that is %s as it is', async (status) => {
    const { engine, clock, publish, at, endpointId } = engineFixture({
      answer: (_, count) => (status === 'delivered' && count === 1 ? 200 : 500),
      schedule: [],
    })
    if (status === 'skipped') engine.updateEndpoint(endpointId, { enabled: false })
    const id = publish()
    await clock.idle()
    const { reason } = at(id)
    await engine.resend(id)
    expect(at(id)).toMatchObject({
      status,
      attempts: expect.objectContaining({ length: status === 'skipped' ? 1 : 2 }),
    })
    expect(at(id).reason).toBe(reason)
    expect(clock.nextAt()).toBeUndefined()
  })
})

describe('a resend to another URL', () => {
  test('[N131] is recorded, and decides nothing, not even where it succeeds', async () => {
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

describe('a resend while an attempt of the schedule is under way', () => {
  /** The automatic attempt is request 1, the resend request 2. */
  function racing(schedule?: readonly number[]) {
    const answers = [barrier<number>(), barrier<number>()] as const
    const fixture = engineFixture({
      answer: (_, count): FixtureAnswer => answers[count - 1]?.opened ?? 500,
      jitter: 0,
      ...(schedule && { schedule }),
    })
    return { ...fixture, auto: answers[0], manual: answers[1] }
  }

  async function begin(fixture: ReturnType<typeof racing>) {
    const id = fixture.publish()
    while (fixture.received.length < 1) await new Promise((resolve) => setImmediate(resolve))
    const resent = fixture.engine.resend(id)
    while (fixture.received.length < 2) await new Promise((resolve) => setImmediate(resolve))
    return { id, resent }
  }

  test('and succeeds first: the attempt that fails later changes nothing', async () => {
    const fixture = racing()
    const { id, resent } = await begin(fixture)
    fixture.manual.open(200)
    await resent
    expect(fixture.at(id).status).toBe('delivered')
    fixture.auto.open(500)
    await fixture.clock.advanceBy(72 * HOUR_MS)
    expect(fixture.at(id)).toMatchObject({
      status: 'delivered',
      attempts: [
        { number: 1, trigger: 'auto', response: { status: 500 } },
        { number: 2, trigger: 'manual', response: { status: 200 } },
      ],
    })
    expect(fixture.received).toHaveLength(2)
  })

  test('and succeeds last: the retry that was due by then is cancelled', async () => {
    const fixture = racing()
    const { id, resent } = await begin(fixture)
    fixture.auto.open(500)
    while (fixture.at(id).status === 'pending') await new Promise((resolve) => setImmediate(resolve))
    expect(fixture.at(id).status).toBe('retrying')
    fixture.manual.open(200)
    await resent
    await fixture.clock.advanceBy(72 * HOUR_MS)
    expect(fixture.at(id).status).toBe('delivered')
    expect(fixture.received).toHaveLength(2)
  })

  test('and succeeds after the last attempt has failed', async () => {
    const fixture = racing([])
    const { id, resent } = await begin(fixture)
    fixture.auto.open(500)
    while (fixture.at(id).status === 'pending') await new Promise((resolve) => setImmediate(resolve))
    expect(fixture.at(id).status).toBe('failed')
    fixture.manual.open(200)
    await resent
    expect(fixture.at(id).status).toBe('delivered')
    expect(fixture.at(id).reason).toBeUndefined()
  })

  test('and fails, before or after the success of the other', async () => {
    for (const first of ['auto', 'manual'] as const) {
      const fixture = racing()
      const { id, resent } = await begin(fixture)
      const open = { auto: () => fixture.auto.open(200), manual: () => fixture.manual.open(500) }
      open[first]()
      await new Promise((resolve) => setImmediate(resolve))
      open[first === 'auto' ? 'manual' : 'auto']()
      await resent
      await fixture.clock.idle()
      expect(fixture.at(id).status).toBe('delivered')
    }
  })

  test('is awaited by an advance', async () => {
    const fixture = racing()
    const { id } = await begin(fixture)
    fixture.auto.open(500)
    let advanced = false
    const advance = fixture.clock.advanceBy(72 * HOUR_MS).then(() => {
      advanced = true
    })
    await new Promise((resolve) => setImmediate(resolve))
    expect(advanced).toBe(false)
    fixture.manual.open(200)
    await advance
    expect(fixture.at(id)).toMatchObject({ status: 'delivered' })
    expect(fixture.received).toHaveLength(2)
  })
})
