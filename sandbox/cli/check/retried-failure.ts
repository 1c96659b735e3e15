import { makeScenario, type ScenarioDelivery, type ScenarioSource } from 'tix-webhooks/testing'
import { answerText, isParked, isSuccessStatus, type SendResult } from '../../internal.js'
import { madeUpEvent } from '../send/made-up-events.js'
import type { Judgement } from './judge.js'
import { TOO_MANY_REQUESTS } from './probed.js'
import { type WrongDelivery, wrongDelivery } from './wrong-delivery.js'

/** A probe that is no scenario: whether there is a second delivery depends on the answer to the first. */
export const RETRIED_FAILURE = {
  name: 'retried-failure',
  description:
    'An order that lacks what handlers read, and the same again if that fails: finds receivers that mark an event before they handle it, and so take its retry for a duplicate.',
} as const

/** The kind of its events. */
export const RETRIED_KIND = 'order.created'

type Lacking = (id: string) => object

/** The parts to leave out of an order: first all but its id, then those of a ticket. */
const LACKING: readonly Lacking[] = [
  (id) => ({ order: { id } }),
  (id) => ({ order: { id }, tickets: [null] }),
]

const EXPECTED = 'the retry of an event that failed is not answered as a duplicate'

/** A receiver, as this probe uses it. */
export interface Retrying {
  readonly signing: Omit<ScenarioSource, 'body'>
  send(delivery: ScenarioDelivery): Promise<SendResult>
  /** Whether it answers a genuine delivery now. */
  isUp(): Promise<boolean>
}

/** Its result. */
export interface Retried extends Omit<Judgement, 'at'> {
  readonly got: readonly string[]
  readonly wrong?: readonly WrongDelivery[]
}

/**
 * Delivers orders that lack something, each again if it fails, until a retry is answered like a duplicate. Nothing else is proof: an
 * order that is refused, or fails twice, may not have reached the mark.
 */
export async function retriedFailure(receiver: Retrying): Promise<Retried> {
  const tried: Answers[] = []
  const toDuplicate = once(() => answerToDuplicate(receiver))
  for (const lacking of LACKING) {
    // A failure whose cause is not the order would not repeat with the next order.
    for (let inARow = 1; ; inARow += 1) {
      const answers = await deliver(bodyOf(lacking), receiver)
      tried.push(answers)
      if (answers.some(({ error }) => error !== undefined)) return unanswered(tried, await receiver.isUp())
      if (!(await isTakenForDuplicate(answers, toDuplicate))) break
      if (inARow === 2) return marksFirst(answers)
    }
  }
  return { passed: true, expected: EXPECTED, got: tried.flatMap(gotOf), note: unseen(tried) }
}

type Answer = SendResult & { readonly delivery: ScenarioDelivery }

/** The answers to an order that was delivered, once or twice. */
type Answers = readonly Answer[]

const gotOf = (answers: Answers): string[] => answers.map(answerText)

/** The last delivery of an order. */
function lastOf(answers: Answers): WrongDelivery {
  const deliveries = answers.map(({ delivery }) => delivery)
  return wrongDelivery(deliveries, answers.length - 1, gotOf(answers).at(-1) ?? '')
}

const areParked = (answers: Answers): boolean => answers.some(({ response }) => isParked(response))

const statusesOf = (answers: Answers): number[] => answers.map(({ response }) => response?.status ?? 0)

/** Whether an order failed, and its retry was answered like an event that was handled: by a 2xx, or as this receiver answers duplicates. */
async function isTakenForDuplicate(
  answers: Answers,
  toDuplicate: () => Promise<number | undefined>,
): Promise<boolean> {
  const [failure, retry] = statusesOf(answers)
  if (failure === undefined || retry === undefined || failure === retry || areParked(answers)) return false
  if (failure === TOO_MANY_REQUESTS || retry === TOO_MANY_REQUESTS) return false
  return isSuccessStatus(retry) || retry === (await toDuplicate())
}

/** The status that an order gets that was handled before; undefined if it was not handled. */
async function answerToDuplicate(receiver: Retrying): Promise<number | undefined> {
  const deliveries = await deliveriesOf(madeUpEvent(RETRIED_KIND), receiver)
  const answers: Answer[] = []
  for (const delivery of [...deliveries, ...deliveries]) answers.push(await send(delivery, receiver))
  const [first = 0, again] = statusesOf(answers)
  return isSuccessStatus(first) ? again : undefined
}

function marksFirst(answers: Answers): Retried {
  const got = gotOf(answers)
  const like = isSuccessStatus(statusesOf(answers).at(-1) ?? 0) ? '' : ', as it does to one that was handled'
  return {
    passed: false,
    expected: EXPECTED,
    got,
    advice: `It answers ${got.join(' and then ')} to the same event${like}: it marks an event before it handles it, so one whose handler fails once is lost. Mark it in the transaction of the handler's writes, or when the handler has returned.`,
    consequence: 'loses_events',
    wrong: [lastOf(answers)],
  }
}

function unanswered(tried: readonly Answers[], isUp: boolean): Retried {
  const got = tried.flatMap(gotOf)
  return {
    passed: false,
    expected: EXPECTED,
    got,
    advice: `It did not answer an order that lacks something (${got.at(-1)}): did your receiver crash, or does it hang? Its log has the reason.`,
    consequence: isUp ? 'undecided' : 'crashes',
    wrong: tried.slice(-1).map(lastOf),
  }
}

/** The note on a pass: the answers prove nothing. */
function unseen(tried: readonly Answers[]): string {
  const parked = tried.find(areParked)
  if (parked !== undefined)
    return `It answers ${gotOf(parked).join(' and then ')} to an order that it does not handle: it keeps it for a replay, so it is not lost.`
  const pairs = tried.map(statusesOf)
  const unlike = pairs.find(([failure, retry]) => retry !== undefined && retry !== failure)
  const limit =
    'answers do not show whether it marks an event before it handles it. If it does, one whose handler fails once is lost.'
  if (unlike !== undefined)
    return `It answers ${unlike.join(' and then ')} to the same event, which proves nothing, so ${limit}`
  return pairs.some(([failure = 0]) => failure >= 500)
    ? `It may have failed before its handler ran, such as in a validation, so ${limit}`
    : `Nothing made its handler fail, so ${limit}`
}

function bodyOf(lacking: Lacking): string {
  const event = JSON.parse(madeUpEvent(RETRIED_KIND))
  return JSON.stringify({ ...event, data: lacking(event.data.order.id) })
}

/** Delivers an event, and again if it fails. */
async function deliver(body: string, receiver: Retrying): Promise<Answers> {
  const deliveries = await deliveriesOf(body, receiver)
  const answers: Answer[] = []
  for (const delivery of [...deliveries, ...deliveries]) {
    const answer = await send(delivery, receiver)
    answers.push(answer)
    if (answer.response === undefined || isSuccessStatus(answer.response.status)) break
  }
  return answers
}

async function send(delivery: ScenarioDelivery, receiver: Retrying): Promise<Answer> {
  return { ...(await receiver.send(delivery)), delivery }
}

async function deliveriesOf(body: string, { signing }: Retrying): Promise<readonly ScenarioDelivery[]> {
  return (await makeScenario('valid', { ...signing, body })).deliveries
}

function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined
  return () => {
    made ??= make()
    return made
  }
}
