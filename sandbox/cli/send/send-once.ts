import { hintFor, httpSender, type Send } from '../../internal.js'
import type { AttemptSummary } from '../client/attempt-summary.js'
import { aborted } from '../io.js'

/** A request to send: a signed body, or a delivery of a scenario. */
export interface OneDelivery {
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly transport?: 'chunked' | 'tiny-chunks' | 'slow'
}

/** The receiver of a delivery, and the limit for its answer. */
export interface Destination {
  readonly url: string
  /** The secret, of which a hint shows only the last characters. */
  readonly secret: string
  readonly timeoutMs: number
}

/** Sends to the public internet too, because the user typed the address. The sandbox, which sends by itself, has stricter rules. */
export const sendAnywhere: Send = httpSender({ allowPublic: true })

/** A sender that rejects, without waiting for an answer, once the user stops the command. */
export function whileWanted(send: Send, signal: AbortSignal): Send {
  // One for all requests: each of a burst would add a listener of its own.
  const stopped = aborted(signal).then(() => Promise.reject(signal.reason))
  stopped.catch(() => {})
  return (request) => Promise.race([stopped, send(request)])
}

/** Sends deliveries once, without a sandbox, and prints each answer. Rejects only if the user stops the command. */
export function onceSender(
  { url, secret, timeoutMs }: Destination,
  signal: AbortSignal,
): (delivery: OneDelivery) => Promise<AttemptSummary> {
  const send = whileWanted(sendAnywhere, signal)
  return async ({ headers, body, transport }) => {
    signal.throwIfAborted()
    const startedAt = performance.now()
    const result = await send({
      url,
      headers,
      body: new TextEncoder().encode(body),
      timeoutMs,
      ...(transport !== undefined && { transport }),
    })
    const hint = hintFor({ url, secrets: [secret], timeoutMs }, result)
    return {
      ...result,
      url,
      body,
      durationMs: performance.now() - startedAt,
      ...(hint !== undefined && { hint }),
    }
  }
}
