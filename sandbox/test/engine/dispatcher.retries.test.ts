import fc from 'fast-check'
import { RETRY_SCHEDULE } from 'tix-webhooks/testing'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { runs } from '../../../test/support/runs.js'
import { noDeliveries } from '../../engine/record/records.js'
import {
  type EngineFixtureOptions,
  engineFixture,
  type FixtureAnswer,
  HOUR_MS,
  offsetsOf,
  START_MS,
} from '../support/engine-fixture.js'

afterEach(() => void vi.useRealTimers())

const after = (value: string, status = 503): Response =>
  new Response(null, { status, headers: { 'retry-after': value } })

describe('a delivery that always fails', () => {
  test('[S89] [N98] is tried 11 times, at the offsets of the schedule, and has then failed', async () => {
    const { engine, clock, publish, at } = engineFixture({ answer: () => 500, jitter: 0 })
    const id = publish()
    await clock.advanceBy(72 * HOUR_MS)
    expect(offsetsOf(at(id))).toEqual([0, ...RETRY_SCHEDULE])
    expect(at(id)).toMatchObject({ status: 'failed', reason: 'The last attempt failed: 500.' })
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
  ...[200, 201, 202, 204, 206, 299].map((status) => [status, 'delivered', 1] as const),
  ...[300, 301, 304, 307, 400, 401, 404, 409, 410, 422, 429, 500, 503, 599].map(
    (status) => [status, 'retrying', 2] as const,
  ),
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
  const broken = () => {
    throw new Error('out of order')
  }

  test('[N111] is retried', async () => {
    const { clock, publish, at } = engineFixture({ answer: broken })
    const id = publish()
    await clock.advanceBy(72 * HOUR_MS)
    expect(at(id)).toMatchObject({ status: 'failed', reason: 'The last attempt failed: receiver_threw.' })
    expect(at(id).attempts).toHaveLength(11)
    const error = { code: 'receiver_threw', message: 'The receiver threw Error: out of order.' }
    expect(at(id).attempts.at(-1)?.error).toEqual(error)
  })

  test.each([
    ['no answer', 'failed', broken, 'There was no answer (receiver_threw), which is final here.'],
    ['a 500', 'retrying', () => 500, undefined],
  ])('[N111] after %s a delivery is %s if network errors are final', async (_, status, answer, reason) => {
    const { clock, publish, at } = engineFixture({ answer, networkErrors: 'final' })
    const id = publish()
    await clock.idle()
    expect([at(id).status, at(id).reason]).toEqual([status, reason])
  })

  test('is also recorded if the sender rejects', async () => {
    const send = () => Promise.reject(Object.assign(new Error('torn'), { code: 'ECABLE' }))
    const { clock, publish, at, errors } = engineFixture({ send })
    const id = publish()
    await clock.idle()
    const attempts = [{ error: { code: 'ECABLE', message: 'torn' } }]
    expect(at(id)).toMatchObject({ status: 'retrying', attempts })
    expect(errors).toEqual([])
  })
})

describe('a slow answer', () => {
  /** The nth answer takes so many milliseconds of real time, which the virtual time runs with. */
  async function slow(nth: number, ms: number, options: EngineFixtureOptions = {}) {
    vi.useFakeTimers({ toFake: ['Date'] })
    const { answer = () => 500 } = options
    const fixture = engineFixture({
      jitter: 0,
      ...options,
      answer(received, count) {
        if (count === nth) vi.setSystemTime(Date.now() + ms)
        return answer(received, count)
      },
    })
    fixture.clock.run()
    const id = fixture.publish()
    await fixture.clock.idle()
    return { ...fixture, delivery: () => fixture.at(id) }
  }

  test('[N99] skips the steps that passed meanwhile, and does not postpone the others', async () => {
    const { clock, delivery } = await slow(1, 120_000)
    expect(delivery()).toMatchObject({ status: 'retrying', nextAtMs: START_MS + 300_000 })
    await clock.advanceBy(180_000)
    expect(offsetsOf(delivery())).toEqual([0, 300])
    expect(delivery().nextAtMs).toBe(START_MS + 1_800_000)
  })

  test('just before the next step leaves a second between the starts of both', async () => {
    const answer = (_: unknown, count: number) => after(count === 1 ? '1.5' : '0')
    const { clock, delivery } = await slow(2, 900, { schedule: [1, 2, 4], answer })
    vi.setSystemTime(Date.now() + 1500)
    await clock.idle()
    // Begun at 1.5 s, answered at 2.4 s: 2 s has passed, and 4 s is next.
    expect(delivery().nextAtMs).toBe(START_MS + 4000)
  })

  test('[N99] after the end of the schedule is the last', async () => {
    const { delivery } = await slow(1, 73 * HOUR_MS)
    expect(delivery()).toMatchObject({ status: 'failed', attempts: [{ number: 1 }] })
  })
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
