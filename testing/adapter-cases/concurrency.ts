import { Discard, RetryLater } from '../../src/index.js'
import { deferred } from '../../src/internal.js'
import { sampleEvent } from '../deliveries/sample-event.js'
import { bytesOf } from '../deliveries/streamed-body.js'
import { type AdapterCase, test } from './adapter-case.js'
import { signed, signedOrder } from './case-deliveries.js'
import { faultOfRun, INTERNAL, OTHER_SECRET } from './case-runner.js'
import type { ExpectedOutcome } from './expected-answer.js'

/** The outcome of each concurrent delivery, and how its handler ends. */
const ENDS: readonly (readonly [expected: ExpectedOutcome, end: () => void])[] = [
  ['handled', () => {}],
  ['failed', () => thrown(new Error(INTERNAL))],
  ['discarded', () => thrown(new Discard(INTERNAL))],
  ...[11, 22, 33].map((afterSeconds) => {
    const expected: ExpectedOutcome = { outcome: 'retry_later', retryAfterSeconds: afterSeconds }
    return [expected, () => thrown(new RetryLater({ afterSeconds }))] as const
  }),
]

/** Concurrent deliveries, and apps that are mounted at the same time. */
export const togetherCases: readonly AdapterCase[] = [
  test('together-answers: MUST give each of several concurrent deliveries its own bytes, request and answer.', async (runner) => {
    const orders = ENDS.map(() => sampleEvent('order.created'))
    const idOf = (event: unknown) => (event as (typeof orders)[number]).data.order.id
    // No handler ends before all have started; then the last ends first.
    const barrier = ENDS.map(() => deferred())
    let arrived = 0
    const endpoint = await runner.mount({
      handle: async (event) => {
        const index = orders.findIndex((order) => idOf(order) === idOf(event))
        arrived += 1
        if (arrived === ENDS.length) for (const { resolve } of [...barrier].reverse()) resolve()
        await barrier[index]?.promise
        ENDS[index]?.[1]()
      },
    })
    const deliveries = await Promise.all(orders.map((order) => signed(order)))
    const answers = await Promise.all(
      deliveries.map((delivery, index) => endpoint.send(`order ${index + 1} of ${ENDS.length}`, delivery)),
    )
    for (const [index, answer] of answers.entries()) {
      const label = `order ${index + 1} of ${ENDS.length} at once`
      endpoint.expectOutcome(label, answer, ENDS[index]?.[0] as ExpectedOutcome)
      const run = endpoint.runs.find(({ event }) => idOf(event) === idOf(orders[index]))
      const fault = faultOfRun(run, bytesOf((deliveries[index] as (typeof deliveries)[number]).body))
      runner.demand(fault === undefined, `${label}: ${fault}`)
    }
    const requests = new Set(endpoint.runs.map(({ ctx }) => ctx.request))
    runner.demand(
      requests.size === ENDS.length,
      `expected ${ENDS.length} requests, but the handlers got ${requests.size}`,
    )
  }),

  test('together-apart: MUST keep two endpoints apart that are mounted at the same time.', async (runner) => {
    const one = await runner.mount()
    const other = await runner.mount({ secret: OTHER_SECRET })
    const [toOne, toOther] = [await signedOrder(), await signedOrder({ secret: OTHER_SECRET })]
    await one.expectAnswer('a delivery of the other endpoint, at the one', toOther, 'unauthenticated')
    await other.expectAnswer('a delivery of the one endpoint, at the other', toOne, 'unauthenticated')
    await one.expectAnswer('a delivery of the one endpoint', toOne, 'handled')
    await other.expectAnswer('a delivery of the other endpoint', toOther, 'handled')
    await one.expectAnswer('a delivery of the one endpoint again', toOne, 'duplicate')
    runner.demand(
      one.runs.length === 1 && other.runs.length === 1,
      `expected a run at each endpoint, but there were ${one.runs.length} and ${other.runs.length}`,
    )
  }),
]

function thrown(error: Error): never {
  throw error
}
