import {
  type AnyAnswer,
  createTestClock,
  deliverWithRetries,
  RETRY_SCHEDULE,
  signedBody,
  signedDelivery,
} from 'tix-webhooks/testing'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { SECRET } from '../../support/deliveries.js'
import { attemptsAt, timesAt } from '../../support/testing/retrying.js'

const HOUR = 3600

describe('the schedule', () => {
  test('is by default that of the local service: 5 s, then wider, to exactly 72 h', () => {
    expect(RETRY_SCHEDULE).toEqual([
      5,
      60,
      300,
      1800,
      2 * HOUR,
      6 * HOUR,
      12 * HOUR,
      24 * HOUR,
      48 * HOUR,
      72 * HOUR,
    ])
  })

  test('is gone through to its end, and not beyond, while nothing succeeds', async () => {
    const attempts = await attemptsAt([])
    expect(attempts.map(({ number }) => number)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11])
    expect(attempts.map(({ afterSeconds }) => afterSeconds)).toEqual([0, ...RETRY_SCHEDULE])
    expect(attempts.at(-1)).toEqual({
      number: 11,
      afterSeconds: 259_200,
      answer: { status: 500 },
      status: 500,
    })
  })

  test.each<[readonly number[], readonly number[]]>([
    [[], [0]],
    [[1], [0, 1]],
    [
      [0.5, 90],
      [0, 0.5, 90],
    ],
  ])('%j gives attempts after %j', async (schedule, times) => {
    expect(await timesAt([], { schedule })).toEqual(times)
  })

  test('may have steps that are finer than the clock can tell', async () => {
    for (const step of [0.1, 0.123_456_7, 0.300_000_1, 1 / 3]) {
      // The last one ends it, should a step come twice.
      const answers = [{ status: 500 }, { status: 500 }, { status: 200 }]
      expect(await timesAt(answers, { schedule: [step] })).toEqual([0, step])
    }
  })

  test('is not disturbed by the real time that passes, where there is no clock', async () => {
    vi.useFakeTimers({ toFake: ['Date'] })
    onTestFinished(() => void vi.useRealTimers())
    const delivery = await signedDelivery('order.created', { secret: SECRET })
    const slow = () => {
      vi.setSystemTime(Date.now() + 20_000)
      return { status: 500 }
    }
    const attempts = await deliverWithRetries(slow, delivery, { schedule: [5, 60] })
    expect(attempts.map(({ afterSeconds }) => afterSeconds)).toEqual([0, 5, 60])
  })

  test('advances the clock to each attempt, and no further', async () => {
    const clock = createTestClock()
    const startMs = clock.now()
    await attemptsAt([{ status: 500 }, { status: 500 }, { status: 200 }], { clock })
    expect(clock.now() - startMs).toBe(60_000)
    await attemptsAt([], { clock, schedule: [7] })
    expect(clock.now() - startMs).toBe(67_000)
  })

  test('goes by the first attempt, when the endpoint itself advances the clock', async () => {
    const clock = createTestClock()
    const seen: number[] = []
    const slow = () => {
      seen.push((clock.now() - startMs) / 1000)
      clock.advance(20_000)
      return { status: 503, headers: { 'retry-after': seen.length === 2 ? '300' : '' } }
    }
    const startMs = clock.now()
    const delivery = await signedDelivery('order.created', { secret: SECRET })
    const attempts = await deliverWithRetries(slow, delivery, { clock, schedule: [5, 60, 90, 100, 600] })
    // 5 is over when the first answer comes; 300 counts from when the second one does, 80.
    expect(attempts.map(({ afterSeconds }) => afterSeconds)).toEqual([0, 60, 380, 600])
    expect(seen).toEqual([0, 60, 380, 600])
  })

  test('ends, when the endpoint advances the clock past its end', async () => {
    const clock = createTestClock()
    const sleepy = () => {
      clock.advance(100_000)
      return { status: 500 }
    }
    const delivery = await signedDelivery('order.created', { secret: SECRET })
    expect(await deliverWithRetries(sleepy, delivery, { clock, schedule: [5, 60] })).toHaveLength(1)
  })
})

describe('an answer', () => {
  test.each([200, 201, 202, 204, 299])('%d ends it', async (status) => {
    expect(await attemptsAt([{ status }])).toEqual([
      { number: 1, afterSeconds: 0, answer: { status }, status },
    ])
    expect(await timesAt([{ statusCode: status }])).toEqual([0])
  })

  test.each([0, 100, 199, 300, 301, 304, 400, 401, 404, 410, 429, 500, 503, 599])(
    '%d is tried again',
    async (status) => {
      expect(await timesAt([{ status }, { statusCode: status }, { status: 204 }])).toEqual([0, 5, 60])
    },
  )

  test('with a status and a statusCode, as that of supertest, counts by the latter', async () => {
    expect(await timesAt([{ status: 500, statusCode: 200 } as AnyAnswer])).toEqual([0])
  })

  test('is kept as it is', async () => {
    const answer = { status: 200, text: 'as the client gives it' }
    expect((await attemptsAt([answer]))[0]?.answer).toBe(answer)
  })
})

describe('a client that fails', () => {
  const error = new Error('connect ECONNREFUSED')
  test.each<[string, () => Promise<AnyAnswer> | AnyAnswer]>([
    ['rejects', () => Promise.reject(error)],
    [
      'throws',
      () => {
        throw error
      },
    ],
  ])('and %s made an attempt, whose error is kept', async (_, fail) => {
    const delivery = await signedDelivery('order.created', { secret: SECRET })
    let calls = 0
    const send = () => (++calls === 1 ? fail() : { status: 200 })
    const attempts = await deliverWithRetries(send, delivery)
    expect(attempts).toEqual([
      { number: 1, afterSeconds: 0, error },
      { number: 2, afterSeconds: 5, answer: { status: 200 }, status: 200 },
    ])
  })
})

test('bytes are delivered as they are', async () => {
  const body = Uint8Array.of(0xff, 0xfe, 0)
  const seen: Uint8Array[] = []
  const send = (delivery: { body: Uint8Array }) => {
    seen.push(delivery.body)
    return { status: 500 }
  }
  await deliverWithRetries(send, await signedBody(body, { secret: SECRET }), { schedule: [1] })
  expect(seen).toEqual([body, body])
})
