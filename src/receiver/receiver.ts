import { checkData, parseEnvelope } from '../event/payload.js'
import type { SchemaMap } from '../event/schema.js'
import type { Grant } from '../idempotency/guard.js'
import { type Caller, checkedFor } from '../lib/call-site.js'
import { isPromise } from '../lib/maybe-promise.js'
import { parseSignatureHeader } from '../signature/header.js'
import { matchSignature } from '../signature/match.js'
import { checkTimestamp, signatureAgeSeconds } from '../signature/signature.js'
import { incompleteIfCutOff, readBody } from './body/body.js'
import { contextOf } from './context.js'
import { DefaultLog } from './default-log.js'
import { type Delivery, mismatchHint } from './delivery.js'
import { Drain } from './drain.js'
import { keyOf } from './key.js'
import type { WebhookOptions } from './options/options.js'
import { resolveSettings } from './options/settings.js'
import { DRAINING, METHOD_NOT_ALLOWED, type Outcome, outcomeOfFault, UNHANDLED } from './outcome.js'
import { runOnce, timedOutBeforeRun } from './run.js'
import { DeliveryState } from './state.js'

/** Turns deliveries into outcomes. Adapters translate requests and responses. */
export interface Receiver<Request = unknown> {
  /** Processes one delivery and resolves with its outcome. Never rejects. */
  receive(delivery: Delivery<Request>): Promise<Outcome>
  /** Refuses new deliveries with 503 before reading them, and resolves when the running handlers have settled or are given up. */
  drain(): Promise<void>
  /** The lower-case name of the signature header. */
  readonly headerName: string
}

/**
 * Makes a receiver: the core of all adapters, without any framework.
 *
 * @throws TypeError that names the option and the fix
 * @example
 * ```ts
 * const receiver = createReceiver({ secret, on: { 'order.created': async (event) => issue(event.data.tickets) } })
 * const header = request.headers.get(receiver.headerName)
 * const outcome = await receiver.receive({ header, body: rawBody, request })
 * const { status, headers, body } = answerTo(outcome)
 * ```
 */
export function createReceiver<
  Request = unknown,
  Tx = undefined,
  Schemas extends SchemaMap<keyof Schemas> = Record<never, never>,
>(options: WebhookOptions<Request, Tx, Schemas>): Receiver<Request> {
  return createReceiverFor(createReceiver, options)
}

/** The same for an adapter. `caller` is the function that the user calls: the stack of a `TypeError` begins there. */
export function createReceiverFor<Request, Tx, Schemas extends SchemaMap<keyof Schemas>>(
  caller: Caller,
  options: WebhookOptions<Request, Tx, Schemas>,
): Receiver<Request> {
  const settings = checkedFor(caller, () => resolveSettings(options))
  const { scheme } = settings
  const drain = new Drain()
  const shared = { settings, drain, log: new DefaultLog(settings.namespace) }

  /**
   * Takes one delivery from its arrival to its outcome. The order of the steps matters: nothing is read without a valid header, nothing is
   * parsed before its signature matches, and data that no handler takes is not checked. Each step may throw the fault that ends the
   * delivery. The secret function and the schemas are awaited with `inTime`. The other awaits need none: the reader of the body and the
   * run keep to the deadline themselves, and an HMAC or a digest waits for nothing.
   */
  async function receive(delivery: Delivery<Request>): Promise<Outcome> {
    // Starts the deadline and counts the delivery for drain(), until state.end().
    const state = new DeliveryState(delivery, shared)
    const { clock } = state
    try {
      if (drain.isClosed) return state.end(DRAINING)
      if (delivery.method !== undefined && delivery.method !== 'POST') return state.end(METHOD_NOT_ALLOWED)

      const header = parseSignatureHeader(delivery.header, scheme)
      const rawBody = await readBody(delivery.body, settings.maxBodyBytes, clock)

      // After the body, whose stream some hosts end if it is not read at once.
      const secrets = settings.secretKeysFor(delivery.request)
      const secretKeys = isPromise(secrets) ? await clock.inTime(secrets, timedOut) : secrets
      const secretIndex = await matchSignature(header, rawBody, secretKeys, scheme, () =>
        mismatchHint(delivery),
      )
      const ageSeconds = signatureAgeSeconds(header.t, scheme, settings.now())
      // Set before the check, so that the record of a stale delivery has it.
      state.signatureAgeSeconds = ageSeconds
      checkTimestamp(header.t, scheme, settings.toleranceSeconds, ageSeconds)
      state.isVerified = true

      const envelope = parseEnvelope(rawBody)
      const kind = envelope.type
      state.kind = kind
      const handler = settings.handlerFor(kind)
      if (handler === undefined) {
        state.reportUnhandled()
        return state.end(UNHANDLED)
      }

      // The key is made before the data is checked, so that a schema that changes its input cannot change the key.
      let key: string | null
      try {
        // A promise is a digest: a key function is synchronous.
        key = await keyOf(settings, envelope, { rawBody, request: delivery.request, secretIndex })
      } catch (fault) {
        // If the data is invalid too, checkData throws: that is the likelier cause.
        await clock.inTime(Promise.resolve(checkData(envelope, settings.schemas)), timedOut)
        throw fault
      }
      if (key !== null) state.key = key
      const checked = checkData(envelope, settings.schemas)
      const event = isPromise(checked) ? await clock.inTime(checked, timedOut) : checked

      // The guard claims the event, has its handler run, and records the end.
      const verified = { t: header.t, secretIndex, rawBody, key }
      const handle = (grant: Grant): unknown => handler(event, contextOf(state, grant, verified, scheme))
      return state.end(await runOnce(key, state, handle, settings))
    } catch (fault) {
      // The signature of a body that was cut off cannot match: then the fault is body_incomplete, and no forgery.
      return state.end(outcomeOfFault(await incompleteIfCutOff(fault, delivery, clock)))
    }
  }

  function timedOut(): never {
    throw timedOutBeforeRun(settings.timeoutMs)
  }

  return { receive, drain: () => drain.close(), headerName: scheme.header }
}
