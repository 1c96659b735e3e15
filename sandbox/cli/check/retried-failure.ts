import { makeScenario, type ScenarioDelivery, type ScenarioSource } from 'tix-webhooks/testing'
import { isSuccessStatus, type SendResult } from '../../internal.js'
import { madeUpEvent } from '../send/made-up-events.js'
import type { Judgement } from './judge.js'

/** A probe that is no scenario: whether there is a second delivery depends on the answer to the first. */
export const RETRIED_FAILURE = {
  name: 'retried-failure',
  description:
    'An order that lacks what handlers read, and the same again if that fails: finds receivers that mark an event before they handle it, and so acknowledge its retry.',
} as const

/** The kind of its events. */
export const RETRIED_KIND = 'order.created'

/** What the orders lack: first all but the id, then what is in a ticket. */
const LACKING: readonly ((id: string) => object)[] = [
  (id) => ({ order: { id } }),
  (id) => ({ order: { id }, tickets: [null] }),
]

/** Delivers orders that lack something until one of them fails, and that one again. */
export async function retriedFailure(
  signing: Omit<ScenarioSource, 'body'>,
  send: (delivery: ScenarioDelivery) => Promise<SendResult>,
): Promise<Judgement & Pick<Delivered, 'got'>> {
  const expected = 'no 2xx to the retry of an event that failed'
  let last: Delivered | undefined
  for (const lacking of LACKING) {
    const deliverOne = async (): Promise<Delivered> => deliver(lacking, signing, send)
    last = await deliverOne()
    if (!last.isAnswered) {
      const advice = `It did not answer an order that lacks something (${last.got.at(-1)}): did your receiver crash, or does it hang? Its log has the reason.`
      return { passed: false, expected, got: last.got, advice, consequence: 'crashes' }
    }
    if (!last.isRetried) continue
    // A failure that is not the order's fault does not follow the next order, too.
    if (last.isAcknowledged) last = await deliverOne()
    const { got, isRetried, isAcknowledged } = last
    if (!isRetried || !isAcknowledged) return { passed: true, expected, got }
    return {
      passed: false,
      expected,
      got,
      advice: `It answers ${got.join(' and then ')} to the same event: it marks an event before it handles it, so one whose handler fails once is lost. Mark it in the transaction of the handler's writes, or when the handler has returned.`,
      consequence: 'loses_events',
    }
  }
  const note =
    'Nothing made its handler fail, so answers do not show whether it marks an event before it handles it. If it does, one whose handler fails once is lost.'
  return { passed: true, expected, got: last?.got ?? [], note }
}

interface Delivered {
  /** The status of each answer, or why there was none. */
  readonly got: readonly string[]
  /** Whether the first answer was a failure, so that it was sent again. */
  readonly isRetried: boolean
  readonly isAcknowledged: boolean
  readonly isAnswered: boolean
}

async function deliver(
  lacking: (id: string) => object,
  signing: Omit<ScenarioSource, 'body'>,
  send: (delivery: ScenarioDelivery) => Promise<SendResult>,
): Promise<Delivered> {
  const event = JSON.parse(madeUpEvent(RETRIED_KIND))
  const body = JSON.stringify({ ...event, data: lacking(event.data.order.id) })
  const { deliveries } = await makeScenario('valid', { ...signing, body })
  const results: SendResult[] = []
  for (const delivery of [...deliveries, ...deliveries]) {
    const result = await send(delivery)
    results.push(result)
    if (result.error !== undefined || isAccepted(result)) break
  }
  return {
    got: results.map(({ response, error }) => String(response?.status ?? error?.code)),
    isRetried: results.length > 1,
    isAcknowledged: results.some(isAccepted),
    isAnswered: results.every(({ error }) => error === undefined),
  }
}

const isAccepted = ({ response }: SendResult): boolean =>
  response !== undefined && isSuccessStatus(response.status)
