import fc from 'fast-check'
import { RETRY_SCHEDULE } from 'tix-webhooks/testing'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { runs } from '../../../test/support/runs.js'
import { noDeliveries } from '../../engine/record/records.js'
import { engineFixture, type FixtureAnswer, HOUR_MS, offsetsOf, START_MS } from '../support/engine-fixture.js'

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

  test('[N100] with jitter keeps to 11 attempts within 72 hours, each within a tenth of its gap, each delivery in its own way', {
    tags: ['slow'],
  }, async () => {
    const { engine, clock, publish } = engineFixture({ answer: () => 500 })
    for (let count = 0; count < 50; count++) publish()
    await clock.advanceBy(72 * HOUR_MS)
    const all = engine.deliveries({ limit: 50 })
    const schedule = [0, ...RETRY_SCHEDULE]
    for (const delivery of all) {
      const offsets = offsetsOf(delivery)
      expect(offsets).toHaveLength(11)
      for (const [index, offset] of offsets.entries()) {
        const step = schedule[index] ?? 0
        const gap = step - (schedule[index - 1] ?? 0)
        expect(Math.abs(offset - step)).toBeLessThanOrEqual(gap / 10 + 0.001)
      }
      expect(offsets.at(-1)).toBeLessThanOrEqual(259_200)
    }
    expect(new Set(all.map((delivery) => offsetsOf(delivery)[5])).size).toBeGreaterThan(45)
  })
})

describe('a status', () => {
  test.each([200, 201, 202, 204, 206, 299])('[S90] of %i is a success', async (status) => {
    const { clock, publish, at } = engineFixture({ answer: () => status })
    const id = publish()
    await clock.advanceBy(72 * HOUR_MS)
    expect(at(id)).toMatchObject({ status: 'delivered', attempts: [{ number: 1 }] })
    expect(at(id).reason).toBeUndefined()
  })

  test.each([300, 301, 304, 307, 400, 401, 404, 409, 410, 422, 429, 500, 503, 599])(
    '[S89] [N110] of %i is tried again, as the specification has it for all that is not 2xx',
    async (status) => {
      const { clock, publish, at } = engineFixture({ answer: () => status, jitter: 0 })
      const id = publish()
      await clock.advanceBy(5000)
      expect(at(id)).toMatchObject({ status: 'retrying', attempts: [{ number: 1 }, { number: 2 }] })
    },
  )
})

describe('an attempt without an answer', () => {
  const broken = () => {
    throw new Error('out of order')
  }

  test('[N111] is tried again', async () => {
    const { clock, publish, at } = engineFixture({ answer: broken })
    const id = publish()
    await clock.advanceBy(72 * HOUR_MS)
    expect(at(id).attempts).toHaveLength(11)
    expect(at(id)).toMatchObject({
      status: 'failed',
      reason: 'The last attempt failed: receiver_threw.',
    })
    expect(at(id).attempts.at(-1)?.error).toEqual({
      code: 'receiver_threw',
      message: 'The receiver threw Error: out of order.',
    })
  })

  test('[N111] is the end where network errors are final; a status is not', async () => {
    const { clock, publish, at } = engineFixture({ answer: broken, networkErrors: 'final' })
    const id = publish()
    await clock.idle()
    expect(at(id)).toMatchObject({
      status: 'failed',
      reason: 'There was no answer (receiver_threw), which is final here.',
    })
    const other = engineFixture({ answer: () => 500, networkErrors: 'final' })
    const retried = other.publish()
    await other.clock.idle()
    expect(other.at(retried).status).toBe('retrying')
  })

  test('is also that of a sender that rejects', async () => {
    const send = () => Promise.reject(Object.assign(new Error('torn'), { code: 'ECABLE' }))
    const { clock, publish, at, errors } = engineFixture({ send })
    const id = publish()
    await clock.idle()
    expect(at(id)).toMatchObject({
      status: 'retrying',
      attempts: [{ error: { code: 'ECABLE', message: 'torn' } }],
    })
    expect(errors).toEqual([])
  })
})

describe('a slow answer', () => {
  /** The real time, which the virtual one runs with, passes by so much while the receiver is at work. */
  const working = (ms: number) => void vi.setSystemTime(Date.now() + ms)

  test('[N99] leaves out the steps that passed meanwhile, and does not push the others on', async () => {
    vi.useFakeTimers({ toFake: ['Date'] })
    const { clock, publish, at } = engineFixture({
      jitter: 0,
      answer: (_, count) => {
        if (count === 1) working(120_000)
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

  test('that comes just before the next step leaves a second between the beginnings of both', async () => {
    vi.useFakeTimers({ toFake: ['Date'] })
    const { clock, publish, at } = engineFixture({
      jitter: 0,
      schedule: [1, 2, 4],
      answer: (_, count) => {
        if (count === 2) working(900)
        return after(count === 1 ? '1.5' : '0')
      },
    })
    clock.run()
    const id = publish()
    await clock.idle()
    vi.setSystemTime(Date.now() + 1500)
    await clock.idle()
    // Begun at 1.5 s, answered at 2.4 s: 2 s has passed, and 4 s is next.
    expect(at(id).nextAtMs).toBe(START_MS + 4000)
  })

  test('[N99] after the end of the schedule is the last', async () => {
    vi.useFakeTimers({ toFake: ['Date'] })
    const { clock, publish, at } = engineFixture({
      answer: () => {
        working(73 * HOUR_MS)
        return 500
      },
    })
    clock.run()
    const id = publish()
    await clock.idle()
    expect(at(id)).toMatchObject({ status: 'failed', attempts: [{ number: 1 }] })
  })
})

describe('Retry-After', () => {
  const offsetsFor = async (...answers: readonly FixtureAnswer[]): Promise<number[]> => {
    const { clock, publish, at } = engineFixture({
      answer: (_, count) => answers[count - 1] ?? 500,
      jitter: 0,
    })
    const id = publish()
    await clock.advanceBy(72 * HOUR_MS)
    return offsetsOf(at(id))
  }

  test('[N101] is a minimum: earlier than the next step it changes nothing', async () => {
    expect((await offsetsFor(after('3'), 200)).slice(0, 3)).toEqual([0, 5])
  })

  test('later than the next step is waited for, and steps that pass meanwhile are left out', async () => {
    expect(await offsetsFor(after('400'), 500, 200)).toEqual([0, 400, 1800])
  })

  test('counts from its own answer, and is asked for with any failure', async () => {
    expect(await offsetsFor(500, after('100', 429), after('600', 400), 200)).toEqual([0, 5, 105, 705])
  })

  test('[N101] does not prolong the 72 hours: the last attempt is made at their end', async () => {
    expect(await offsetsFor(after('99999999'))).toEqual([0, 259_200])
  })

  test('[N101] may be a date, of the real time, the only one that a receiver has', async () => {
    const date = new Date(Date.now() + 2 * HOUR_MS).toUTCString()
    const [, second = 0] = await offsetsFor(after(date), 200)
    expect(second).toBeGreaterThan(7190)
    expect(second).toBeLessThanOrEqual(7201)
  })

  test('may be a date of the virtual time, where the receiver was given that', async () => {
    const { clock, publish, at } = engineFixture({
      jitter: 0,
      signingNow: () => clock.now(),
      answer: (_, count) => (count > 1 ? 200 : after(new Date(START_MS + 2 * HOUR_MS).toUTCString())),
    })
    const id = publish()
    await clock.advanceBy(72 * HOUR_MS)
    expect(offsetsOf(at(id))).toEqual([0, 7200])
  })

  test.each(['soon', '-5', '1.5', '', '5 s'])('[N101] that cannot be read is ignored: %j', async (value) => {
    expect(await offsetsFor(after(value), 200)).toEqual([0, 5])
  })
})

test('[N99] [N100] [N102] whatever an endpoint does, the attempts keep to the laws of the schedule', {
  tags: ['slow'],
}, async () => {
  const answers = fc.oneof(
    { weight: 4, arbitrary: fc.constant({ status: 500, wait: undefined }) },
    { weight: 2, arbitrary: fc.record({ status: fc.constant(503), wait: fc.nat(400_000) }) },
    { weight: 1, arbitrary: fc.constant({ status: 0, wait: undefined }) },
    { weight: 1, arbitrary: fc.constant({ status: 200, wait: undefined }) },
  )
  await fc.assert(
    fc.asyncProperty(
      fc.array(answers, { minLength: 11, maxLength: 11 }),
      fc.integer(),
      fc.double({ min: 0, max: 0.5, noNaN: true }),
      async (list, seed, jitter) => {
        const { clock, publish, at } = engineFixture({
          seed,
          jitter,
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
        expect(attempts.length).toBeLessThanOrEqual(11)
        expect(times[0]).toBe(0)
        expect(times.at(-1)).toBeLessThanOrEqual(72 * HOUR_MS)
        expect(nextAtMs).toBeUndefined()
        const successes = attempts.map(({ response }) => response?.status === 200)
        expect(successes.indexOf(true)).toBe(status === 'delivered' ? attempts.length - 1 : -1)
        for (const [index, time] of times.entries()) {
          if (index === 0) continue
          const before = times[index - 1] ?? 0
          const asked = (list[index - 1]?.wait ?? 0) * 1000
          // At least a second, and what was asked for, but for the end of the 72 hours.
          if (time < 72 * HOUR_MS) expect(time - before).toBeGreaterThanOrEqual(Math.max(1000, asked))
        }
      },
    ),
    { numRuns: runs(60) },
  )
})

test('[N102] an attempt begins a second after the one before, however close together two steps are', {
  tags: ['slow'],
}, async () => {
  const gaps = fc.array(fc.integer({ min: 1, max: 3 }), { minLength: 2, maxLength: 10 })
  await fc.assert(
    fc.asyncProperty(
      gaps,
      fc.integer(),
      fc.double({ min: 0, max: 0.5, noNaN: true }),
      async (list, seed, jitter) => {
        let end = 0
        const schedule = list.map((gap) => {
          end += gap
          return end
        })
        const { clock, publish, at } = engineFixture({ answer: () => 500, seed, schedule, jitter })
        const id = publish()
        await clock.advanceBy(HOUR_MS)
        const offsets = offsetsOf(at(id))
        for (const [index, offset] of offsets.entries()) {
          if (index > 0 && offset < end)
            expect(offset - (offsets[index - 1] ?? 0)).toBeGreaterThanOrEqual(1 - 1e-9)
        }
        expect(offsets.at(-1)).toBeLessThanOrEqual(end)
      },
    ),
  )
})
