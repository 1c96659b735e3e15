import { setMaxListeners } from 'node:events'
import type { SignatureOptions } from 'tix-webhooks'
import { signedBody } from 'tix-webhooks/testing'
import { isSuccessStatus } from '../lib/is-success-status.js'
import type { Random } from '../lib/random.js'
import type { VirtualClock } from '../time/clock.js'
import type { Endpoint } from './endpoint.js'
import { hintFor } from './hints.js'
import { errorOf } from './network/network-error.js'
import type { OutgoingRequest, Send, SendResult } from './network/send.js'
import { isChunked } from './network/transport.js'
import type { Tracked } from './record/delivery-log.js'
import type { Attempt, Message } from './record/records.js'

export interface AttemptsParts {
  readonly clock: VirtualClock
  readonly random: Random
  readonly send: Send
  readonly signature: SignatureOptions
  readonly signingNow: () => number
  readonly timeoutMs: number
  /** Throws if an endpoint cannot have this URL. */
  readonly checkUrl: (url: string) => void
}

/** A request of a scenario, sent as it is. */
export interface ScenarioRequest {
  readonly body: string | Uint8Array
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly transport?: OutgoingRequest['transport'] | undefined
}

/** A request to send, with its target and the reason for it. */
interface Sending extends Pick<Attempt, 'trigger' | 'scenario' | 'sentBody' | 'inexact'> {
  readonly url: string
  readonly secrets: readonly string[]
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
  readonly transport?: OutgoingRequest['transport'] | undefined
  readonly signal: AbortSignal
}

const BROKEN_OFF = {
  code: 'broken_off',
  message: 'The sandbox was reset or closed before there was an answer.',
}

const USER_AGENT = 'tix-webhooks-sandbox'
/** How much of a scenario's body is kept. */
const MAX_SENT_BODY = 64 * 1024

/** Makes attempts: each is one request and its result. */
export class Attempts {
  readonly #parts: AttemptsParts
  #breaking = breaker()
  #isClosed = false

  constructor(parts: AttemptsParts) {
    this.#parts = parts
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  /** Aborts when the requests that are in flight are aborted. */
  get inFlight(): AbortSignal {
    return this.#breaking.signal
  }

  /** Aborts each attempt that is in flight. */
  breakOff(): void {
    const broken = this.#breaking
    if (!this.#isClosed) this.#breaking = breaker()
    broken.abort()
  }

  /** Aborts them for good: no attempt begins after it. */
  close(): void {
    this.#isClosed = true
    this.breakOff()
  }

  /** Sends the message itself, signed with the secrets that the endpoint has now. */
  async genuine(
    tracked: Tracked,
    { url, secrets }: Pick<Endpoint, 'url' | 'secrets'>,
    trigger: 'auto' | 'manual',
  ): Promise<Attempt> {
    const signal = this.inFlight
    const body = Buffer.from(tracked.delivery.message.body)
    const headers = {
      ...(await signedHeaders(body, secrets, this.#parts)),
      'content-length': String(body.length),
      'user-agent': USER_AGENT,
    }
    return this.#attempt(tracked, { trigger, url, secrets, headers, body, signal })
  }

  /** Sends a request of a scenario in place of the message. */
  ofScenario(
    tracked: Tracked,
    { url, secrets }: Pick<Endpoint, 'url' | 'secrets'>,
    scenario: string,
    request: ScenarioRequest,
  ): Promise<Attempt> {
    const body = typeof request.body === 'string' ? Buffer.from(request.body) : request.body
    const { transport } = request
    const length = isChunked(transport) ? {} : { 'content-length': String(body.length) }
    const headers = { 'user-agent': USER_AGENT, ...request.headers, ...length }
    return this.#attempt(tracked, {
      ...{ trigger: 'scenario', scenario, url, secrets, headers, body, transport, signal: this.inFlight },
      ...sentBodyOf(tracked.delivery.message, body),
    })
  }

  async #attempt(tracked: Tracked, sending: Sending): Promise<Attempt> {
    const { clock, random, timeoutMs, checkUrl } = this.#parts
    const { url, secrets, headers, body, transport, signal, ...about } = sending
    tracked.begun += 1
    const begun = {
      id: random.id('att_'),
      number: tracked.begun,
      ...about,
      virtualMs: clock.now(),
      realMs: Date.now(),
      url,
      requestHeaders: headers,
    }
    const startMs = performance.now()
    const result = await this.#send({
      url,
      headers,
      body,
      timeoutMs,
      signal,
      ...(transport && { transport }),
    })
    const durationMs = Math.round((performance.now() - startMs) * 10) / 10
    const hint = hintFor({ url, secrets, timeoutMs, checkUrl }, result)
    return {
      ...begun,
      ...(result.error === undefined ? { response: result.response } : { error: result.error }),
      durationMs,
      ...(hint !== undefined && { hint }),
    }
  }

  /** A sender should never reject; one that does must not stop the other deliveries. */
  async #send(request: OutgoingRequest & { readonly signal: AbortSignal }): Promise<SendResult> {
    const { signal } = request
    if (signal.aborted) return { error: BROKEN_OFF }
    try {
      const result = await this.#parts.send(request)
      return signal.aborted && result.error !== undefined ? { error: BROKEN_OFF } : result
    } catch (error) {
      return { error: errorOf(error) }
    }
  }
}

/** The headers of a body that each secret signs now. */
export async function signedHeaders(
  body: Uint8Array | string,
  secret: readonly string[],
  { signature, signingNow }: Pick<AttemptsParts, 'signature' | 'signingNow'>,
): Promise<Readonly<Record<string, string>>> {
  const { headers } = await signedBody(body, { secret, signature, now: signingNow })
  return headers
}

function breaker(): AbortController {
  const controller = new AbortController()
  // One listener for each request in flight: many, but none leaks.
  setMaxListeners(0, controller.signal)
  return controller
}

/** Whether the endpoint accepted it. */
export function isSuccess({ response }: Pick<Attempt, 'response'>): boolean {
  return response !== undefined && isSuccessStatus(response.status)
}

function sentBodyOf({ body }: Message, sent: Uint8Array): Pick<Attempt, 'sentBody' | 'inexact'> {
  const text = Buffer.from(sent).toString()
  if (text === body) return {}
  const sentBody = text.slice(0, MAX_SENT_BODY)
  return { sentBody, ...(!Buffer.from(sentBody).equals(sent) && { inexact: true }) }
}
