import fc from 'fast-check'
import {
  type AnyAnswer,
  createTestClock,
  deliverWithRetries,
  RETRY_SCHEDULE,
  type RetryOptions,
  type SignedDelivery,
  signedBody,
  signedDelivery,
} from 'tix-webhooks/testing'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { SECRET } from '../support/deliveries.js'
import { runs } from '../support/runs.js'
import { errorOf } from '../support/thrown-error.js'

afterEach(() => {
  vi.useRealTimers()
})

/** The attempts at an endpoint that returns these answers, and then refuses. */
async function attemptsAt(answers: readonly AnyAnswer[], options: RetryOptions = {}) {
  const left = [...answers]
  const delivery = await signedDelivery('order.created', { secret: SECRET })
  return deliverWithRetries(() => left.shift() ?? { status: 500 }, delivery, {
    clock: createTestClock(),
    ...options,
  })
}

/** Their times, in seconds after the first. */
async function timesAt(answers: readonly AnyAnswer[], options: RetryOptions = {}): Promise<number[]> {
  return (await attemptsAt(answers, options)).map(({ afterSeconds }) => afterSeconds)
}

/** How an endpoint answers one attempt. */
interface Reaction {
  /** Undefined: the client fails. */
  readonly status: number | undefined
  readonly retryAfter: number | undefined
  readonly form: 'seconds' | 'date' | 'list'
  /** How many seconds it takes. */
  readonly takes: number
}

const START_MS = Date.UTC(2026, 4, 17, 14)
const END = 300

const schedules = fc
  .uniqueArray(fc.integer({ min: 1, max: END }), { maxLength: 8 })
  .map((seconds) => seconds.sort((a, b) => a - b))

const reactions: fc.Arbitrary<Reaction> = fc.record({
  status: fc.oneof(fc.constantFrom(undefined, 200, 204, 299, 199, 300), fc.integer({ min: 300, max: 599 })),
  retryAfter: fc.option(fc.nat(END + 20), { nil: undefined }),
  form: fc.constantFrom('seconds', 'date', 'list'),
  takes: fc.oneof({ arbitrary: fc.constant(0), weight: 3 }, fc.nat(END / 4)),
})

/** Second by second: the next attempt is in the first one after a step that is also past the Retry-After, or is the last step. */
function expectedTimes(schedule: readonly number[], list: readonly Reaction[]): number[] {
  const end = schedule.at(-1) ?? 0
  const times = [0]
  for (const { status, retryAfter = 0, takes } of list) {
    if (status !== undefined && status >= 200 && status <= 299) break
    const answered = (times.at(-1) ?? 0) + takes
    const asked = status === undefined ? 0 : answered + retryAfter
    let second = answered + 1
    const isDue = () =>
      schedule.some((step) => step > answered && step <= second) && (second >= asked || second === end)
    while (second <= end && !isDue()) second += 1
    if (second > end) break
    times.push(second)
  }
  return times
}

function answerOf({ status, retryAfter, form }: Reaction, nowMs: number): AnyAnswer {
  if (status === undefined) throw new Error('connection reset')
  if (retryAfter === undefined) return { status }
  const value = form === 'date' ? new Date(nowMs + retryAfter * 1000).toUTCString() : String(retryAfter)
  return {
    status,
    headers: form === 'list' ? { 'Retry-After': [value] } : new Headers({ 'retry-after': value }),
  }
}

test('attempts are made when a simple model of the service says so, each signed at its time', async () => {
  const delivery = await signedBody('{}', { secret: SECRET })
  await fc.assert(
    fc.asyncProperty(
      schedules,
      fc.array(reactions, { minLength: 12, maxLength: 12 }),
      async (schedule, list) => {
        const clock = createTestClock()
        const startMs = clock.now()
        const signedAt: number[] = []
        const attempts = await deliverWithRetries(
          ({ header }) => {
            const reaction = list[signedAt.length] as Reaction
            signedAt.push(Number(/^t=(\d+),/.exec(header)?.[1]) - startMs / 1000)
            clock.advance(reaction.takes * 1000)
            return answerOf(reaction, clock.now())
          },
          delivery,
          { schedule, clock },
        )

        const times = attempts.map(({ afterSeconds }) => afterSeconds)
        expect(times).toEqual(expectedTimes(schedule, list))
        expect(signedAt).toEqual(times)
        expect(attempts.map(({ number }) => number)).toEqual(times.map((_, index) => index + 1))
        expect(attempts.map(({ status }) => status)).toEqual(
          list.slice(0, times.length).map(({ status }) => status),
        )
      },
    ),
    { numRuns: runs(100) },
  )
})

test('the schedule is by default that of the local service, to its end and not beyond', async () => {
  expect(RETRY_SCHEDULE).toEqual([5, 60, 300, 1800, 7200, 21_600, 43_200, 86_400, 172_800, 259_200])
  const attempts = await attemptsAt([])
  expect(attempts.map(({ afterSeconds }) => afterSeconds)).toEqual([0, ...RETRY_SCHEDULE])
  const last = { number: 11, afterSeconds: 259_200, answer: { status: 500 }, status: 500 }
  expect(attempts.at(-1)).toEqual(last)
})

test('the schedule does not depend on the real time if there is no clock, but the signatures do', async () => {
  vi.useFakeTimers({ now: START_MS, toFake: ['Date'] })
  const old = await signedDelivery('order.created', { secret: SECRET, now: () => START_MS - 1e8 })
  const signedAt: number[] = []
  const slow = ({ header }: SignedDelivery) => {
    signedAt.push(Number(header.slice(2, 12)) - START_MS / 1000)
    vi.setSystemTime(Date.now() + 20_000)
    return { status: 500 }
  }
  const attempts = await deliverWithRetries(slow, old, { schedule: [5, 60] })
  expect(attempts.map(({ afterSeconds }) => afterSeconds)).toEqual([0, 5, 60])
  expect(signedAt).toEqual([0, 20, 40])
})

test('an answer of a statusCode counts by that, as that of supertest, and is kept as it is', async () => {
  const answer = { status: 500, statusCode: 200, text: 'as the client returns it' } as AnyAnswer
  const attempts = await attemptsAt([answer])
  expect(attempts).toEqual([{ number: 1, afterSeconds: 0, answer, status: 200 }])
  expect(attempts[0]?.answer).toBe(answer)
})

test('an answer is missing if the client fails, and the error is kept', async () => {
  const error = new Error('connect ECONNREFUSED')
  const delivery = await signedBody(Uint8Array.of(0xff, 0xfe, 0), { secret: SECRET })
  let calls = 0
  const send = ({ body }: { body: Uint8Array }) => {
    expect(body).toBe(delivery.body)
    return ++calls === 1 ? Promise.reject(error) : { status: 200 }
  }
  expect(await deliverWithRetries(send, delivery)).toEqual([
    { number: 1, afterSeconds: 0, error },
    { number: 2, afterSeconds: 5, answer: { status: 200 }, status: 200 },
  ])
})

describe('Retry-After', () => {
  const asking = (headers: unknown): AnyAnswer => ({ status: 503, headers })
  const done = { status: 200 }

  test.each<[string, unknown]>([
    ['a plain object with a number', { 'Retry-After': 120 }],
    ['a Map', new Map([['retry-after', '120']])],
    ['a value with blanks around it', { 'retry-after': ' 120 ' }],
  ])('is read from %s', async (_, headers) => {
    expect(await timesAt([asking(headers), done])).toEqual([0, 120])
  })

  test('may be a date, by the clock, or by the real time if there is none', async () => {
    const startMs = START_MS + 250
    const answers = [asking({ 'retry-after': 'Sun, 17 May 2026 14:02:00 GMT' }), done]
    expect(await timesAt(answers, { clock: createTestClock(startMs) })).toEqual([0, 120])
    vi.useFakeTimers({ now: startMs, toFake: ['Date'] })
    expect(await timesAt(answers, { clock: undefined })).toEqual([0, 120])
  })

  test.each([
    undefined,
    null,
    'retry-after: 120',
    { 'retry-before': '120' },
    ...[undefined, '-120', '120.5', '1e3', '120s', ['120', '180'], 'soon, in 2999'].map((value) => ({
      'retry-after': value,
    })),
    { 'retry-after': '2027-01-01T00:00:00Z' },
    { 'retry-after': 'Sun, 40 May 2999 25:00:00 GMT' },
  ])('asks for nothing in the headers %o', async (headers) => {
    expect(await timesAt([asking(headers), done])).toEqual([0, 5])
  })
})

const { now } = createTestClock()

test.each<[{ send?: unknown; delivery?: unknown; options?: unknown }, RegExp]>([
  [{ send: () => {} }, /^send must return the answer.+undefined\. Is a return missing\?$/],
  [{ send: () => ({ status: '200' }) }, /it returned an object without one\.$/],
  [{ delivery: null }, /^delivery must be made by signedDelivery or signedBody.+not null\.$/],
  [{ options: { schedules: [5] } }, /^There is no option schedules\./],
  [{ options: null }, /^options must be an object of schedule, clock/],
  [{ options: { schedule: 5 } }, /^schedule must be a list.+not a number\.$/],
  [{ options: { schedule: [5, 5] } }, /^schedule must be.+not \[5, 5\]\.$/],
  [{ options: { clock: now } }, /^clock must be the whole.+not a function\.$/],
])('%o is refused', async ({ send = () => ({ status: 200 }), delivery, options }, message) => {
  const signed = await signedDelivery('order.created', { secret: SECRET })
  const error = await errorOf(() =>
    deliverWithRetries(
      send as () => AnyAnswer,
      delivery === undefined ? signed : (delivery as SignedDelivery),
      options as RetryOptions,
    ),
  )
  expect(error).toBeInstanceOf(TypeError)
  expect(error.message).toMatch(message)
})

describe('a test clock', () => {
  test('stands still until it is advanced, and alone', () => {
    const [one, other] = [createTestClock(), createTestClock()]
    expect([one.now(), one.now()]).toEqual([START_MS, START_MS])
    one.advance(1500)
    one.advance(0)
    one.advance(0.5)
    expect([one.now(), other.now()]).toEqual([START_MS + 1500.5, START_MS])
  })

  test.each<[unknown, string]>([
    ['2026-02-30T00:00:00Z', '"2026-02-30T00:00:00Z"'],
    [-1, '-1'],
    [Date.now, 'a function'],
  ])('does not start at %o', async (start, told) => {
    const error = await errorOf(() => createTestClock(start as number))
    expect(error).toBeInstanceOf(TypeError)
    expect(error.message).toMatch(/^start is not a date: .* in the years 1970 to 9998; not /)
    expect(error.message.endsWith(`not ${told}.`)).toBe(true)
  })

  test.each<[unknown, string]>([
    [-1, '-1'],
    [Number.NaN, 'NaN'],
    [Number.POSITIVE_INFINITY, 'Infinity'],
  ])('does not advance by %o, and stays at its time', async (by, told) => {
    const clock = createTestClock()
    const error = await errorOf(() => clock.advance(by as number))
    expect(error).toBeInstanceOf(TypeError)
    expect(error.message).toBe(`A test clock advances by milliseconds, 0 or more, not by ${told}.`)
    expect(clock.now()).toBe(START_MS)
  })
})
