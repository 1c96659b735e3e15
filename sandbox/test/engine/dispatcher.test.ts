import fc from 'fast-check'
import { verifySignature } from 'tix-webhooks'
import { RETRY_SCHEDULE } from 'tix-webhooks/testing'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { SECRET } from '../../../test/support/deliveries.js'
import { deferred, throws, turns } from '../../../test/support/promises.js'
import { runs } from '../../../test/support/runs.js'
import { noDeliveries } from '../../engine/record/records.js'
import {
  type EngineFixtureOptions,
  engineFixture,
  type FixtureAnswer,
  offsetsOf,
  START_MS,
} from '../support/engine-fixture.js'
import { HOUR_MS } from '../support/ticketing.js'

afterEach(() => void vi.useRealTimers())

const after = (value: string, status = 503): Response =>
  new Response(null, { status, headers: { 'retry-after': value } })

describe('a delivery that always fails', () => {
  test('[S89] [N98] [N121] is tried 11 times, at the offsets of the schedule, has then failed, and its endpoint stays enabled', async () => {
    const { engine, clock, publish, at, endpointId } = engineFixture({ answer: () => 410, jitter: 0 })
    const id = publish()
    await clock.advanceBy(72 * HOUR_MS)
    expect(offsetsOf(at(id))).toEqual([0, ...RETRY_SCHEDULE])
    expect(at(id)).toMatchObject({ status: 'failed', reason: 'The last attempt failed: 410.' })
    expect(engine.endpoint(endpointId)?.enabled).toBe(true)
    expect(at(id).nextAtMs).toBeUndefined()
    expect(clock.nextAt()).toBeUndefined()
    expect(engine.counts()).toEqual({ ...noDeliveries(), failed: 1 })
    await clock.advanceBy(1000 * HOUR_MS)
    expect(at(id).attempts).toHaveLength(11)
  })

  test('[N100] has jitter of its own', async () => {
    const { engine, clock, publish } = engineFixture({ answer: () => 500 })
    for (let count = 0; count < 10; count++) publish()
    await clock.advanceBy(HOUR_MS)
    const fifths = engine.deliveries().map((delivery) => offsetsOf(delivery)[4])
    expect(new Set(fifths).size).toBe(10)
    for (const fifth of fifths) expect(Math.abs(Number(fifth) - 1800)).toBeLessThanOrEqual(150.001)
  })
})

test.each([
  ...[200, 204, 299].map((status) => [status, 'delivered', 1] as const),
  ...[300, 304, 400, 409, 410, 429, 500, 599].map((status) => [status, 'retrying', 2] as const),
])(
  '[S89] [S90] [N110] after a %d a delivery is %s: only a 2xx is a success',
  async (answer, status, attempts) => {
    const { clock, publish, at } = engineFixture({ answer: () => answer, jitter: 0 })
    const id = publish()
    await clock.advanceBy(5000)
    expect(at(id).status).toBe(status)
    expect(at(id).attempts).toHaveLength(attempts)
    expect(at(id).reason).toBeUndefined()
  },
)

describe('an attempt without an answer', () => {
  const broken = throws(new Error('out of order'))

  test.each<[string, 'retry' | 'final', string, () => FixtureAnswer, string?]>([
    ['no answer', 'retry', 'failed', broken, 'The last attempt failed: receiver_threw.'],
    ['no answer', 'final', 'failed', broken, 'There was no answer (receiver_threw), which is final here.'],
    ['a 500', 'final', 'retrying', () => 500],
  ])(
    '[N111] after %s, if network errors mean %s, a delivery ends as %s',
    async (_, networkErrors, status, answer, reason) => {
      const { clock, publish, at } = engineFixture({ answer, networkErrors })
      const id = publish()
      await clock.advanceBy(networkErrors === 'retry' ? 72 * HOUR_MS : 0)
      expect([at(id).status, at(id).reason]).toEqual([status, reason])
    },
  )
})

test('[N99] after a slow answer, steps that have passed are skipped, and the others are not postponed', async () => {
  vi.useFakeTimers({ toFake: ['Date'] })
  const { clock, publish, at } = engineFixture({
    jitter: 0,
    answer(_, count) {
      // Two minutes of real time, which the virtual time runs with.
      if (count === 1) vi.setSystemTime(Date.now() + 120_000)
      return 500
    },
  })
  clock.run()
  const id = publish()
  await clock.idle()
  expect(at(id)).toMatchObject({ status: 'retrying', nextAtMs: START_MS + 300_000 })
  await clock.advanceBy(180_000)
  expect(offsetsOf(at(id))).toEqual([0, 300])
  expect(at(id).nextAtMs).toBe(START_MS + 1_800_000)
})

describe('Retry-After', () => {
  const offsetsFor = async (answers: readonly FixtureAnswer[], options?: EngineFixtureOptions) => {
    const answer = (_: unknown, count: number) => answers[count - 1] ?? 500
    const { clock, publish, at } = engineFixture({ answer, jitter: 0, ...options })
    const id = publish()
    await clock.advanceBy(72 * HOUR_MS)
    return offsetsOf(at(id))
  }

  test.each<[string, FixtureAnswer[], number[]]>([
    ['a time before the next step, which changes nothing', [after('3'), 200], [0, 5]],
    ['a time after some steps, which are skipped', [after('400'), 500, 200], [0, 400, 1800]],
    ['times from each answer', [500, after('100', 429), after('600', 400), 200], [0, 5, 105, 705]],
    ['a time after the 72 hours, at whose end the last is made', [after('99999999')], [0, 259_200]],
    ...['soon', '-5', '1.5', '', '5 s'].map((value): [string, FixtureAnswer[], number[]] => [
      `${JSON.stringify(value)}, which is ignored`,
      [after(value), 200],
      [0, 5],
    ]),
  ])('[N101] is a minimum: %s', async (_, answers, offsets) => {
    expect(await offsetsFor(answers)).toEqual(offsets)
  })

  test('[N101] may be a date of the real time, or of the virtual time if that signs', async () => {
    const dateAfter = (ms: number) => after(new Date(ms + 2 * HOUR_MS).toUTCString())
    const [, second = 0] = await offsetsFor([dateAfter(Date.now()), 200])
    expect(second).toBeGreaterThan(7190)
    expect(second).toBeLessThanOrEqual(7201)
    expect(await offsetsFor([dateAfter(START_MS), 200], { signingNow: () => START_MS })).toEqual([0, 7200])
  })
})

test('[N99] [N100] [N102] whatever an endpoint answers, attempts are a second apart and within the schedule', {
  tags: ['slow'],
}, async () => {
  const answers = fc.oneof(
    { weight: 4, arbitrary: fc.constant({ status: 500, wait: undefined }) },
    { weight: 2, arbitrary: fc.record({ status: fc.constant(503), wait: fc.nat(400_000) }) },
    { weight: 1, arbitrary: fc.constant({ status: 0, wait: undefined }) },
    { weight: 1, arbitrary: fc.constant({ status: 200, wait: undefined }) },
  )
  /** Steps that are so close together that their jitter would overlap. */
  const close = fc
    .array(fc.integer({ min: 1, max: 3 }), { minLength: 2, maxLength: 10 })
    .map((gaps) => gaps.map((_, index) => gaps.slice(0, index + 1).reduce((sum, gap) => sum + gap)))
  const cases = fc.record({
    list: fc.oneof(fc.constant([]), fc.array(answers, { minLength: 11, maxLength: 11 })),
    schedule: fc.oneof(fc.constant(RETRY_SCHEDULE), close),
    seed: fc.integer(),
    jitter: fc.double({ min: 0, max: 0.5, noNaN: true }),
  })
  await fc.assert(
    fc.asyncProperty(cases, async ({ list, ...options }) => {
      const { clock, publish, at } = engineFixture({
        ...options,
        answer: (_, count) => {
          const { status, wait } = list[count - 1] ?? { status: 500 }
          if (status === 0) throw new Error('no answer')
          return wait === undefined ? status : after(String(wait), status)
        },
      })
      const id = publish()
      await clock.advanceBy(72 * HOUR_MS)
      const { status, attempts, firstAtMs, nextAtMs } = at(id)
      const times = attempts.map(({ virtualMs }) => virtualMs - firstAtMs)
      const end = Number(options.schedule.at(-1)) * 1000
      expect(attempts.length).toBeLessThanOrEqual(options.schedule.length + 1)
      expect(times[0]).toBe(0)
      expect(times.at(-1)).toBeLessThanOrEqual(end)
      expect(nextAtMs).toBeUndefined()
      const successes = attempts.map(({ response }) => response?.status === 200)
      expect(successes.indexOf(true)).toBe(status === 'delivered' ? attempts.length - 1 : -1)
      for (const [index, time] of times.entries()) {
        const asked = (list[index - 1]?.wait ?? 0) * 1000
        // At least a second, and as long as was asked for, except at the end of the schedule.
        if (index > 0 && time < end) {
          expect(time - (times[index - 1] ?? 0)).toBeGreaterThanOrEqual(Math.max(1000, asked) - 1e-6)
        }
      }
    }),
    { numRuns: runs(160) },
  )
})

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
    const [auto, manual] = [deferred<number>(), deferred<number>()]
    const fixture = engineFixture({
      answer: (_, count): FixtureAnswer => [auto, manual][count - 1]?.promise ?? 500,
      jitter: 0,
      ...(schedule && { schedule }),
    })
    const { engine, publish, received, at } = fixture
    const id = publish()
    while (received.length < 1) await turns(1)
    const resent = engine.resend(id)
    while (received.length < 2) await turns(1)
    const failFirst = async () => {
      auto.resolve(500)
      while (at(id).status === 'pending') await turns(1)
      return at(id).status
    }
    return { ...fixture, id, auto, manual, resent, failFirst }
  }

  test('and succeeds first: the attempt that fails later changes nothing', async () => {
    const { clock, at, received, id, auto, manual, resent } = await racing()
    manual.resolve(200)
    await resent
    expect(at(id).status).toBe('delivered')
    auto.resolve(500)
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
    // An advance waits for the resend, too.
    const advance = clock.advanceBy(72 * HOUR_MS)
    await turns(1)
    manual.resolve(200)
    await Promise.all([resent, advance])
    expect(at(id).status).toBe('delivered')
    expect(at(id).reason).toBeUndefined()
    expect(received).toHaveLength(2)
  })
})
