import type { Secrets, SignatureOptions } from 'tix-webhooks'
import { SCENARIOS, type ScenarioDelivery, type ScenarioName } from 'tix-webhooks/testing'
import { answerText, type Send, type SendResult } from '../../internal.js'
import { LIMITS_OF_A_PASS } from './advice.js'
import type { AfterSilence } from './consequence.js'
import { type FailingHandler, failingHandler } from './failing-handler.js'
import { type Judgement, judge } from './judge.js'
import { type Probe, type ProbeName, planned, playsRetriedFailure, type Wanted } from './plan.js'
import { repeatsTime } from './repeated-time.js'
import { RETRIED_FAILURE, retriedFailure } from './retried-failure.js'
import { scenarioForAnyReceiver } from './scenario-deliveries.js'
import { type WrongDelivery, wrongDelivery } from './wrong-delivery.js'

/** The options of a probe. */
export interface ProbeOptions extends Wanted {
  /** The secret of the endpoint. */
  secret: Secrets
  /** How the service signs: the receiver's own option. */
  signature?: SignatureOptions
  /** The receiver's tolerance for `t`, in seconds. Default 300. */
  toleranceSeconds?: number
  /** The timeout of each answer, in seconds; 0 for none. Default 15. */
  timeoutSeconds?: number
  send: Send
  /** Called with each result as it comes. */
  onProgress?: (result: ProbeResult) => void
}

/** The result of one probe. Its fault and the consequence are absent if it passed. */
export interface ProbeResult extends Omit<Judgement, 'at'> {
  readonly name: ProbeName
  /** The delivery that was sent, and the fault that it finds. */
  readonly description: string
  /** For each delivery, the status, `parked`, or the reason why there was no answer. The first without an answer is the last. */
  readonly got: readonly string[]
  /** The deliveries with a wrong answer. Absent if the probe passed, or if nothing listens any more. */
  readonly wrong?: readonly WrongDelivery[]
}

/** A scenario that was played. */
interface Played extends ProbeResult {
  readonly status: number | undefined
}

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
  const afterSilence = howItGoesOn(url, valid, options)
  for (const one of others) {
    if (failing?.judges(one.scenario.verdict) === false) continue
    const { status: _, ...result } = await play(url, one, options, { failing, afterSilence })
    const isGone = result.got.includes('ECONNREFUSED')
    report(isGone ? gone(result, results.at(-1)?.name) : result)
    if (isGone) return results
  }
  // It needs no existing order, and proves nothing if every delivery fails before its signature is verified.
  const isJudged = failing?.judges('unusable') ?? true
  if (isJudged && endsWithRetriedFailure) {
    const isUp = async (): Promise<boolean> => (await afterSilence()) !== 'nothing'
    report(await playRetriedFailure(url, options, isUp))
  }
  return results
}

async function playRetriedFailure(
  url: string,
  options: ProbeOptions,
  isUp: () => Promise<boolean>,
): Promise<ProbeResult> {
  const { secret, signature } = options
  const signing = { secret, ...(signature && { signature }) }
  return { ...RETRIED_FAILURE, ...(await retriedFailure({ signing, send: senderTo(url, options), isUp })) }
}

/** A forgery without anything else about it. */
const PLAIN_FORGERY = 'wrong-secret'

/** Finds out what the receiver still answers after a delivery without an answer: sends a genuine one each time, and one forgery. */
function howItGoesOn(
  url: string,
  { event }: Pick<Probe, 'event'>,
  options: ProbeOptions,
): () => Promise<AfterSilence> {
  const answers = async (name: ScenarioName): Promise<boolean> => {
    const scenario = SCENARIOS.find((one) => one.name === name)
    return scenario !== undefined && (await play(url, { scenario, event }, options)).status !== undefined
  }
  let answersForgery: Promise<boolean> | undefined
  return async () => {
    if (!(await answers('valid'))) return 'nothing'
    answersForgery ??= answers(PLAIN_FORGERY)
    return (await answersForgery) ? 'others' : 'no_forgery'
  }
}

/** Sends a forgery, to see whether its answer differs from that of a genuine delivery. */
async function handlerThatFails(
  url: string,
  { event, status }: Pick<Probe, 'event'> & Pick<Played, 'status'>,
  options: ProbeOptions,
): Promise<FailingHandler | undefined> {
  const scenario = SCENARIOS.find(({ name }) => name === PLAIN_FORGERY)
  if (status === undefined || scenario === undefined) return undefined
  const forged = await play(url, { scenario, event }, options)
  return failingHandler(status, forged.status, options.data === undefined)
}

/** The knowledge of the receiver when a scenario is played. */
interface Known {
  readonly failing?: FailingHandler | undefined
  afterSilence?(): Promise<AfterSilence>
}

async function play(
  url: string,
  { scenario, event }: Probe,
  options: ProbeOptions,
  known: Known = {},
): Promise<Played> {
  const { secret, signature, toleranceSeconds } = options
  const timeoutMs = timeoutMsOf(options)
  const verifying = {
    secret,
    ...(signature && { signature }),
    ...(toleranceSeconds !== undefined && { toleranceSeconds }),
  }
  const { deliveries, deliver } = await scenarioForAnyReceiver(scenario.name, {
    body: IN_PIECES.includes(scenario.name) ? event.makeToCut : event.make,
    ...verifying,
  })
  const send = senderTo(url, options)
  let isSilent = false
  const sendOne = async (delivery: ScenarioDelivery): Promise<SendResult | undefined> => {
    // Waiting for a receiver that hangs or is gone once is enough.
    if (!scenario.isBurst && isSilent) return undefined
    const result = await send(delivery)
    isSilent ||= result.error !== undefined
    return result
  }
  const results = (await deliver(sendOne)).filter((result) => result !== undefined)
  const { name, description } = scenario
  const got = results.map(answerText)
  const mustBeRefused = scenario.verdict === 'forged' || scenario.verdict === 'unusable'
  const hangs = results.some(({ error }) => error !== undefined && error.code !== 'ECONNREFUSED')
  const { at = [], ...judgement } = judge(
    {
      scenario,
      url,
      timeoutMs,
      secret,
      isOneOrder: options.data !== undefined,
      failsWith: known.failing?.status,
      bodies: deliveries.map(({ body }) => body),
      repeatsTime: await Promise.all(deliveries.map((delivery) => repeatsTime(delivery, verifying))),
      afterSilence: mustBeRefused && hangs ? await known.afterSilence?.() : undefined,
    },
    results,
  )
  const note = judgement.passed
    ? (judgement.note ?? LIMITS_OF_A_PASS[name]?.(idIn(deliveries[0]?.body)))
    : undefined
  const wrong = at.map((index) => wrongDelivery(deliveries, index, got[index] ?? ''))
  const status = results[0]?.response?.status
  return {
    name,
    description,
    got,
    ...judgement,
    ...(note !== undefined && { note }),
    ...(wrong.length > 0 && { wrong }),
    status,
  }
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

/** It answered before, so an earlier delivery probably crashed it, and this one did not arrive. */
function gone({ wrong: _, ...result }: ProbeResult, before: ProbeName | undefined): ProbeResult {
  const cause = before === undefined ? '' : `, maybe by ${before}`
  const advice = `Nothing listens there any more: the receiver crashed${cause}. Its log has the reason; nothing else was tried.`
  return { ...result, advice, consequence: 'crashes' }
}
