import { type EventKind, isKnownEvent, type Secrets, type SignatureOptions } from 'tix-webhooks'
import { SCENARIOS, type ScenarioDelivery, type ScenarioInfo, type ScenarioName } from 'tix-webhooks/testing'
import type { Send, SendResult } from '../../internal.js'
import { givenEvent, madeUpEvent, madeUpEventToCut } from '../send/made-up-events.js'
import { LIMITS_OF_A_PASS } from './advice.js'
import { type FailingHandler, failingHandler } from './failing-handler.js'
import { type Judgement, judge } from './judge.js'
import { RETRIED_FAILURE, RETRIED_KIND, retriedFailure } from './retried-failure.js'
import { scenarioForAnyReceiver } from './scenario-deliveries.js'

/** The options of a probe. */
export interface ProbeOptions {
  /** The secret of the endpoint. */
  secret: Secrets
  /** A kind that it handles. Default `order.created`, and, without `data`, `event.published` for what an order cannot play. */
  kind?: string
  /** The data of what exists, for a handler that looks it up. Default: orders and events that are made up, another one each time. */
  data?: Readonly<Record<string, unknown>>
  /** The probes to play. Default: all that the kind can play. */
  only?: readonly string[]
  /** How the service signs: the receiver's own option. */
  signature?: SignatureOptions
  /** How far `t` may be from now, for the receiver. Default 300. */
  toleranceSeconds?: number
  /** How long each answer may take; 0 is without end. Default 15. */
  timeoutSeconds?: number
  send: Send
  /** Called with each result as it comes. */
  onProgress?: (result: ProbeResult) => void
}

/** The result of one probe. Its fault and the consequence are absent if it passed. */
export interface ProbeResult extends Judgement {
  readonly name: ProbeName
  /** The delivery that was sent, and the fault that it finds. */
  readonly description: string
  /** The status of each answer, or why there was none, in the order of the deliveries; it is stopped where none comes. */
  readonly got: readonly string[]
}

/** A scenario, or the one probe that is none. */
export type ProbeName = ScenarioName | typeof RETRIED_FAILURE.name

/** All probes, in the order in which they are played. */
export const PROBE_NAMES: readonly ProbeName[] = [...SCENARIOS.map(({ name }) => name), RETRIED_FAILURE.name]

interface Probe {
  readonly scenario: ScenarioInfo
  readonly event: EventSource
}

/** A scenario that was played. */
interface Played extends ProbeResult {
  readonly status: number | undefined
}

interface EventSource {
  /** The JSON of an event. */
  make(): string
  /** The JSON of an event that is cut within a character if it is sent in pieces. */
  makeToCut(): string
}

const DEFAULT_KINDS: readonly EventKind[] = ['order.created', 'event.published']
const DEFAULT_TIMEOUT_SECONDS = 15
const IN_PIECES: readonly ScenarioName[] = ['chunked', 'tiny-chunks', 'slow-body']

/**
 * Plays scenarios on a receiver in any language, and judges its answers by their statuses alone: 2xx is done, 4xx refused, 5xx
 * retry. It gets made-up orders and events, correctly signed, and will handle them.
 *
 * First comes a genuine delivery. If that is not accepted, what needs no handler is tried as long as its answers say something: a
 * forgery that is answered likewise says nothing, because all that follows would fail for the same reason, or seem to pass. Nor is
 * anything else tried where the receiver is gone.
 *
 * @returns a result for each scenario that was played
 * @throws TypeError if an option is invalid
 */
export async function probe(url: string, options: ProbeOptions): Promise<readonly ProbeResult[]> {
  const results: ProbeResult[] = []
  const { only, onProgress } = options
  const [valid, ...others] = planned(options)
  const endsWithRetriedFailure = playsRetriedFailure(options)
  if (valid === undefined) return results
  const report = (result: ProbeResult): void => {
    results.push(result)
    onProgress?.(result)
  }
  const { status, ...first } = await play(url, valid, options)
  const failing = first.passed ? undefined : await handlerThatFails(url, { ...valid, status }, options)
  if (!first.passed || only === undefined || only.includes('valid')) {
    report(failing === undefined ? first : { ...first, advice: failing.advice })
  }
  if (!first.passed && failing === undefined) return results
  for (const one of others) {
    if (failing?.judges(one.scenario.verdict) === false) continue
    const { status: _, ...result } = await play(url, one, options, failing)
    const isGone = result.got.includes('ECONNREFUSED')
    report(isGone ? gone(result, results.at(-1)?.name) : result)
    if (isGone) return results
  }
  // It needs no order that exists, and says nothing if all fails before it is verified.
  const isJudged = failing?.judges('unusable') ?? true
  if (isJudged && endsWithRetriedFailure) report(await playRetriedFailure(url, options))
  return results
}

/**
 * Whether the probe that is no scenario is played: it makes its orders up.
 *
 * @throws TypeError if it is asked for, and cannot be
 */
function playsRetriedFailure({ kind = RETRIED_KIND, only, data }: ProbeOptions): boolean {
  const isAskedFor = only?.includes(RETRIED_FAILURE.name) ?? false
  const canBe = kind === RETRIED_KIND && data === undefined
  if (isAskedFor && !canBe) {
    throw new TypeError(
      `The probe ${RETRIED_FAILURE.name} makes up orders that lack something: leave out --data, and any --kind but ${RETRIED_KIND}.`,
    )
  }
  return canBe && (isAskedFor || only === undefined)
}

async function playRetriedFailure(url: string, options: ProbeOptions): Promise<ProbeResult> {
  const { secret, signature } = options
  const signing = { secret, ...(signature && { signature }) }
  return { ...RETRIED_FAILURE, ...(await retriedFailure(signing, senderTo(url, options))) }
}

/** Sends a forgery, to see whether it is answered otherwise than a genuine delivery. */
async function handlerThatFails(
  url: string,
  { event, status }: Pick<Probe, 'event'> & Pick<Played, 'status'>,
  options: ProbeOptions,
): Promise<FailingHandler | undefined> {
  const scenario = SCENARIOS.find(({ name }) => name === 'wrong-secret')
  if (status === undefined || scenario === undefined) return undefined
  const forged = await play(url, { scenario, event }, options)
  return failingHandler(status, forged.status, options.data === undefined)
}

/** A genuine delivery, always; and what was asked for. */
function planned({ kind, only, data }: ProbeOptions): readonly Probe[] {
  const unknown = only?.find((name) => !PROBE_NAMES.some((one) => one === name))
  if (unknown !== undefined) {
    throw new TypeError(
      `There is no probe ${JSON.stringify(unknown)}. The probes are ${PROBE_NAMES.join(', ')}.`,
    )
  }
  const sources = sourcesOf(kind, data)
  const wanted = SCENARIOS.filter(({ name }) => name === 'valid' || only === undefined || only.includes(name))
  return wanted.flatMap((scenario): Probe[] => {
    const event = sources.find(({ make }) => scenario.suits(JSON.parse(make())))
    if (event !== undefined) return [{ scenario, event }]
    if (only === undefined) return []
    throw new TypeError(
      `The scenario ${scenario.name} needs an event.* such as event.published, not ${kind ?? 'order.created'}.`,
    )
  })
}

/** The sources of its events: the first that suits a scenario is used. */
function sourcesOf(kind: string | undefined, data: ProbeOptions['data']): readonly EventSource[] {
  if (data !== undefined) {
    const make = (): string => givenEvent(kind ?? 'order.created', data)
    return [{ make, makeToCut: make }]
  }
  const kinds = kind === undefined ? DEFAULT_KINDS : [documented(kind)]
  return kinds.map((one) => ({ make: () => madeUpEvent(one), makeToCut: () => madeUpEventToCut(one) }))
}

function documented(kind: string): EventKind {
  const event = { type: kind }
  if (isKnownEvent(event)) return event.type
  throw new TypeError(
    `There are samples of order.created, event.published, event.cancelled and event.rescheduled only: give the data of ${JSON.stringify(kind)} with --data.`,
  )
}

async function play(
  url: string,
  { scenario, event }: Probe,
  options: ProbeOptions,
  failing?: FailingHandler,
): Promise<Played> {
  const { secret, signature, toleranceSeconds } = options
  const timeoutMs = timeoutMsOf(options)
  const { deliveries, deliver } = await scenarioForAnyReceiver(scenario.name, {
    body: IN_PIECES.includes(scenario.name) ? event.makeToCut : event.make,
    secret,
    ...(signature && { signature }),
    ...(toleranceSeconds !== undefined && { toleranceSeconds }),
  })
  const results: SendResult[] = []
  const send = senderTo(url, options)
  const sendOne = async (delivery: ScenarioDelivery): Promise<void> => {
    // Waiting for a receiver that hangs or is gone once is enough.
    if (!scenario.isBurst && results.some(({ error }) => error !== undefined)) return
    results.push(await send(delivery))
  }
  await deliver(sendOne)
  const { name, description } = scenario
  const got = results.map(({ response, error }) => String(response?.status ?? error?.code))
  const isOneOrder = options.data !== undefined
  const judgement = judge(
    { scenario, url, timeoutMs, secret, isOneOrder, failsWith: failing?.status },
    results,
  )
  const note = judgement.passed
    ? (judgement.note ?? LIMITS_OF_A_PASS[name]?.(idIn(deliveries[0]?.body)))
    : undefined
  const status = results[0]?.response?.status
  return { name, description, got, ...judgement, ...(note !== undefined && { note }), status }
}

/** Sends deliveries to the receiver. */
function senderTo(url: string, options: ProbeOptions): (delivery: ScenarioDelivery) => Promise<SendResult> {
  const timeoutMs = timeoutMsOf(options)
  return ({ headers, body, transport }) =>
    options.send({
      url,
      headers: { ...headers, 'user-agent': 'tix-webhooks-check' },
      body: Buffer.from(body),
      timeoutMs,
      ...(transport && { transport }),
    })
}

const timeoutMsOf = ({ timeoutSeconds = DEFAULT_TIMEOUT_SECONDS }: ProbeOptions): number =>
  timeoutSeconds * 1000

/** The id by which a user finds the event in a log. */
function idIn(body = '{}'): string {
  const { data } = JSON.parse(body) as { data?: { order?: { id?: unknown }; event?: { id?: unknown } } }
  const id = data?.order?.id ?? data?.event?.id
  return typeof id === 'string' ? id : 'it'
}

/** It answered before, so an earlier delivery probably crashed it. */
function gone(result: ProbeResult, before: ProbeName | undefined): ProbeResult {
  const cause = before === undefined ? '' : `, maybe by ${before}`
  const advice = `Nothing listens there any more: the receiver crashed${cause}. Its log has the reason; nothing else was tried.`
  return { ...result, advice, consequence: 'crashes' }
}
