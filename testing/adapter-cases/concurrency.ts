import { Discard, RetryLater } from '../../src/index.js'
import { sampleEvent } from '../deliveries/sample-event.js'
import { bytesOf } from '../deliveries/streamed-body.js'
import { type AdapterCase, defineCase } from './adapter-case.js'
import { signed, signedOrder } from './case-deliveries.js'
import { faultOfRun, INSIDE, OTHER_SECRET } from './case-runner.js'
import type { Expected } from './expected-answer.js'

/** How the handlers of deliveries that are there at once end, each in its own way. */
const ENDS: readonly (readonly [expected: Expected, end: () => void])[] = [
  ['handled', () => {}],
  ['failed', () => thrown(new Error(INSIDE))],
  ['discarded', () => thrown(new Discard(INSIDE))],
  ...[11, 22, 33].map((afterSeconds) => {
    const expected: Expected = { outcome: 'retry-later', retryAfterSeconds: afterSeconds }
    return [expected, () => thrown(new RetryLater({ afterSeconds }))] as const
  }),
]

/** Deliveries, and apps, that are there at the same time. */
export const togetherCases: readonly AdapterCase[] = [
  defineCase(
    'together-answers',
    'MUST give each of several concurrent deliveries its own bytes, request and answer.',
    async ({ mount, demand }) => {
      const orders = ENDS.map(() => sampleEvent('order.created'))
      const idOf = (event: unknown) => (event as (typeof orders)[number]).data.order.id
      // None ends before all have begun; then the last is the first to end.
      const meeting = createMeeting(ENDS.length)
      const endpoint = await mount({
        handle: async (event) => {
          const index = orders.findIndex((order) => idOf(order) === idOf(event))
          await meeting.arrive(index)
          ENDS[index]?.[1]()
        },
      })
      const deliveries = await Promise.all(orders.map((order) => signed(order)))
      const answers = await Promise.all(
        deliveries.map((delivery, index) => endpoint.send(`order ${index + 1} of ${ENDS.length}`, delivery)),
      )
      for (const [index, answer] of answers.entries()) {
        const told = `order ${index + 1} of ${ENDS.length} at once`
        endpoint.judge(told, answer, ENDS[index]?.[0] as Expected)
        const run = endpoint.runs.find(({ event }) => idOf(event) === idOf(orders[index]))
        const fault = faultOfRun(run, bytesOf((deliveries[index] as (typeof deliveries)[number]).body))
        demand(fault === undefined, `${told}: ${fault}`)
      }
      const requests = new Set(endpoint.runs.map(({ ctx }) => ctx.request))
      demand(
        requests.size === ENDS.length,
        `expected ${ENDS.length} requests, but the handlers got ${requests.size}`,
      )
    },
  ),

  defineCase(
    'together-apart',
    'MUST keep two endpoints apart that are mounted at the same time.',
    async ({ mount, demand }) => {
      const one = await mount()
      const other = await mount({ secret: OTHER_SECRET })
      const [toOne, toOther] = [await signedOrder(), await signedOrder({ secret: OTHER_SECRET })]
      await one.answers('a delivery of the other endpoint, at the one', toOther, 'unauthenticated')
      await other.answers('a delivery of the one endpoint, at the other', toOne, 'unauthenticated')
      await one.answers('a delivery of the one endpoint', toOne, 'handled')
      await other.answers('a delivery of the other endpoint', toOther, 'handled')
      await one.answers('a delivery of the one endpoint again', toOne, 'duplicate')
      demand(
        one.runs.length === 1 && other.runs.length === 1,
        `expected a run at each endpoint, but there were ${one.runs.length} and ${other.runs.length}`,
      )
    },
  ),
]

function thrown(error: Error): never {
  throw error
}

/** Waits until so many are there, and lets them go the last one first. */
function createMeeting(size: number): { arrive(index: number): Promise<void> } {
  const leave: (() => void)[] = []
  let arrived = 0
  return {
    arrive(index) {
      const left = new Promise<void>((resolve) => {
        leave[index] = resolve
      })
      arrived += 1
      if (arrived === size) for (const go of leave.reverse()) go()
      return left
    },
  }
}
