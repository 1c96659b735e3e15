import fc from 'fast-check'
import { type AnyAnswer, createTestClock, deliverWithRetries, signedBody } from 'tix-webhooks/testing'
import { expect, test } from 'vitest'
import { SECRET } from '../../support/deliveries.js'
import { runs } from '../../support/runs.js'

/** How an endpoint answers one attempt. */
interface Reaction {
  /** Undefined: the client fails. */
  readonly status: number | undefined
  readonly retryAfter: number | undefined
  readonly form: 'seconds' | 'date' | 'list'
  /** How many seconds it takes. */
  readonly takes: number
}

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

test('where nobody asks for anything, attempts are made at the first steps of the schedule', async () => {
  const delivery = await signedBody('{}', { secret: SECRET })
  await fc.assert(
    fc.asyncProperty(schedules, fc.nat(10), async (schedule, failures) => {
      let calls = 0
      const send = () => ({ status: ++calls > failures ? 200 : 500 })
      const attempts = await deliverWithRetries(send, delivery, { schedule })
      expect(attempts.map(({ afterSeconds }) => afterSeconds)).toEqual(
        [0, ...schedule].slice(0, failures + 1),
      )
    }),
  )
})
