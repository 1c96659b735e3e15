import type { Send, SendResult } from '../../sandbox/engine/send.js'
import { type EventKind, isKnownEvent, type Secrets, type SignatureOptions } from '../../src/index.js'
import {
  makeScenario,
  SCENARIOS,
  type ScenarioDelivery,
  type ScenarioInfo,
  type ScenarioName,
} from '../../testing/index.js'
import { judge } from './judge.js'
import { madeUpEvent, madeUpEventToCut } from './made-up-events.js'

/** What a receiver is probed with. */
export interface ProbeOptions {
  /** The secret of the endpoint. */
  secret: Secrets
  /** A kind that it handles. Default `order.created`, and `event.published` for what an order cannot play. */
  kind?: string
  /** The scenarios to play. Default: all that the kind can play. */
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

/** What came of one scenario. */
export interface ProbeResult {
  readonly name: ScenarioName
  /** What was sent, and what fault of a receiver it finds. */
  readonly description: string
  readonly passed: boolean
  /** What the answers must be, in words. */
  readonly expected: string
  /** The status of each answer, or why there was none, in the order of the deliveries; it is stopped where none comes. */
  readonly got: readonly string[]
  /** What is wrong, and what to do; absent where it passed. */
  readonly advice?: string
}

interface Probe {
  readonly scenario: ScenarioInfo
  readonly kind: EventKind
}

const DEFAULT_KINDS: readonly EventKind[] = ['order.created', 'event.published']
const DEFAULT_TIMEOUT_SECONDS = 15
const IN_PIECES: readonly ScenarioName[] = ['chunked', 'slow-body']

/**
 * Plays scenarios on a receiver in whatever language, and judges its answers by the law alone: 2xx is done, 4xx refused, 5xx come
 * again. It is told of made-up orders and events, correctly signed, and will handle them.
 *
 * First comes a genuine delivery. If that is not accepted, nothing else is tried: all that follows would fail for the same reason, or
 * seem to pass. Nor is it where the receiver is gone.
 *
 * @returns a result for each scenario that was played
 * @throws TypeError when an option makes no sense
 */
export async function probe(url: string, options: ProbeOptions): Promise<readonly ProbeResult[]> {
  const results: ProbeResult[] = []
  const { only, onProgress } = options
  for (const one of planned(options)) {
    const isFirst = one.scenario.name === 'valid'
    const result = await play(url, one, options)
    const isGone = !isFirst && result.got.includes('ECONNREFUSED')
    if (!isFirst || !result.passed || only === undefined || only.includes('valid')) {
      const told = isGone ? gone(result, results.at(-1)?.name) : result
      results.push(told)
      onProgress?.(told)
    }
    if (isGone || (isFirst && !result.passed)) break
  }
  return results
}

/** A genuine delivery, always; and what was asked for. */
function planned({ kind, only }: ProbeOptions): readonly Probe[] {
  const names = SCENARIOS.map(({ name }) => name)
  const unknown = only?.find((name) => !names.some((one) => one === name))
  if (unknown !== undefined) {
    throw new TypeError(
      `There is no scenario ${JSON.stringify(unknown)}. The scenarios are ${names.join(', ')}.`,
    )
  }
  const kinds = kind === undefined ? DEFAULT_KINDS : [documented(kind)]
  const wanted = SCENARIOS.filter(({ name }) => name === 'valid' || only === undefined || only.includes(name))
  return wanted.flatMap((scenario): Probe[] => {
    const suited = kinds.find((one) => scenario.suits(JSON.parse(madeUpEvent(one))))
    if (suited !== undefined) return [{ scenario, kind: suited }]
    if (only === undefined) return []
    throw new TypeError(
      `There is no ${scenario.name} of ${kind}: it is for an event.*, such as event.published.`,
    )
  })
}

function documented(kind: string): EventKind {
  const event = { type: kind }
  if (isKnownEvent(event)) return event.type
  throw new TypeError(
    `There are made-up events of order.created, event.published, event.cancelled and event.rescheduled; not of ${JSON.stringify(kind)}.`,
  )
}

async function play(url: string, { scenario, kind }: Probe, options: ProbeOptions): Promise<ProbeResult> {
  const { secret, signature, toleranceSeconds, timeoutSeconds = DEFAULT_TIMEOUT_SECONDS, send } = options
  const timeoutMs = timeoutSeconds * 1000
  const { deliver } = await makeScenario(scenario.name, {
    body: () => (IN_PIECES.includes(scenario.name) ? madeUpEventToCut(kind) : madeUpEvent(kind)),
    secret,
    ...(signature && { signature }),
    ...(toleranceSeconds !== undefined && { toleranceSeconds }),
  })
  const results: SendResult[] = []
  const sendOne = async ({ headers, body, transport }: ScenarioDelivery): Promise<void> => {
    // A receiver that hangs, or is gone, is not waited for again and again.
    if (!scenario.isBurst && results.some(({ error }) => error !== undefined)) return
    const named = { ...headers, 'user-agent': 'tix-webhooks-check' }
    const request = {
      url,
      headers: named,
      body: Buffer.from(body),
      timeoutMs,
      ...(transport && { transport }),
    }
    results.push(await send(request))
  }
  await deliver(sendOne)
  const { name, description } = scenario
  const got = results.map(({ response, error }) => String(response?.status ?? error?.code))
  return { name, description, got, ...judge({ scenario, url, timeoutMs, secret }, results) }
}

/** It answered before, so something that it was sent has ended it. */
function gone(result: ProbeResult, before: ScenarioName | undefined): ProbeResult {
  const cause = before === undefined ? '' : `, maybe by ${before}`
  const advice = `Nothing listens there any more: the receiver has crashed${cause}. Its log says why; nothing else was tried.`
  return { ...result, advice }
}
