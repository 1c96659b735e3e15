import { checkData, parseEnvelope } from '../event/payload.js'
import type { SchemaMap } from '../event/schema.js'
import { type Caller, checkedFor } from '../lib/call-site.js'
import { checkTimerSeconds } from '../lib/check-number.js'
import { isPromise } from '../lib/maybe-promise.js'
import { parseSignatureHeader } from '../signature/header.js'
import { matchSignature } from '../signature/match.js'
import { checkTimestamp, signatureAgeSeconds } from '../signature/signature.js'
import type { Account } from './account.js'
import { incompleteIfCutOff, readBody } from './body/body.js'
import { contextOf } from './context.js'
import { DefaultLog } from './default-log.js'
import { type Delivery, mismatchHint } from './delivery.js'
import { askingBefore } from './handled-before.js'
import { type EventKey, keyOf } from './key.js'
import { Drain } from './operation/drain.js'
import { type Health, healthOf } from './operation/health.js'
import type { WebhookOptions } from './options/options.js'
import { resolveSettings } from './options/settings.js'
import {
  draining,
  METHOD_NOT_ALLOWED,
  type Outcome,
  outcomeOfFault,
  overloaded,
  UNHANDLED,
} from './outcome.js'
import { type RunCalls, runOnce, timedOutBeforeRun } from './run.js'
import { DeliveryState } from './state.js'

/** The calls for those who run the process: each receiver has them, and each `tixWebhooks(…)`. */
export interface Operations {
  /**
   * Whether this process should get deliveries, for a readiness probe: it is not draining, and the store or the inbox can be reached and
   * has its tables. It takes 2 s at most, and never rejects. A store or an inbox that is a function of the request is not asked.
   *
   * @example
   * ```ts
   * const { ok, problems } = await hooks.health()
   * response.status(ok ? 200 : 503).json({ problems })
   * ```
   */
  health(): Promise<Health>
  /**
   * For a shutdown: `health()` is not ok from now on, new deliveries get 503 before they are read, and it resolves when the running handlers
   * have settled or are given up.
   *
   * @param options.graceSeconds how long deliveries are still taken, until the traffic has moved to other processes. Default 0
   * @throws TypeError when `graceSeconds` is no number of seconds from 0 to 2,147,483: nothing has begun then
   * @example
   * ```ts
   * process.once('SIGTERM', async () => {
   *   await hooks.drain({ graceSeconds: 5 })
   *   server.close(() => pool.end())
   * })
   * ```
   */
  drain(options?: { readonly graceSeconds?: number | undefined } | null): Promise<void>
}

/** The calls of a receiver for the one who runs it, for an adapter to pass on. */
export function operationsOf({ health, drain }: Operations): Operations {
  return { health, drain }
}

/** Turns deliveries into outcomes. Adapters translate requests and responses. */
export interface Receiver<Request = unknown> extends Operations {
  /** Processes one delivery and resolves with its outcome. Never rejects. */
  receive(delivery: Delivery<Request>): Promise<Outcome>
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
  Found extends Account | undefined = undefined,
>(options: WebhookOptions<Request, Tx, Schemas, Found>): Receiver<Request> {
  return createReceiverFor(createReceiver, options)
}

/** The same for an adapter. `caller` is the function that the user calls: the stack of a `TypeError` begins there. */
export function createReceiverFor<
  Request,
  Tx,
  Schemas extends SchemaMap<keyof Schemas>,
  Found extends Account | undefined,
>(caller: Caller, options: WebhookOptions<Request, Tx, Schemas, Found>): Receiver<Request> {
  const settings = checkedFor(caller, () => resolveSettings(options))
  const { scheme } = settings
  const drain = new Drain()
  const shared = { settings, drain, log: new DefaultLog(options.namespace) }

  /**
   * Takes one delivery from its arrival to its outcome. The order of the steps matters: nothing is read without a valid header, nothing is
   * parsed before its signature matches, and data that no handler takes is not checked. Each step may throw the fault that ends the
   * delivery. The account or secret function and the schemas are awaited with `inTime`. The other awaits need none: the reader of the body and the
   * run keep to the deadline themselves, and an HMAC or a digest waits for nothing.
   */
  async function receive(delivery: Delivery<Request>): Promise<Outcome> {
    // Starts the deadline and counts the delivery for drain(), until state.end().
    const state = new DeliveryState(delivery, shared)
    const { clock } = state
    try {
      if (drain.isClosed) return state.end(draining())
      if (delivery.method !== undefined && delivery.method !== 'POST') return state.end(METHOD_NOT_ALLOWED)

      const header = parseSignatureHeader(delivery.header, scheme)
      const rawBody = await readBody(delivery.body, settings.maxBodyBytes, clock)

      // After the body, whose stream some hosts end if it is not read at once.
      const { request } = delivery
      const found = settings.signerFor(request, state)
      const { keys, account } = isPromise(found) ? await clock.inTime(found, timedOut) : found
      const id = state.account
      const secretIndex = await matchSignature(header, rawBody, keys, scheme, () => mismatchHint(delivery))
      const ageSeconds = signatureAgeSeconds(header.t, scheme, settings.now())
      // Set before the check, so that the record of a stale delivery has it.
      state.signatureAgeSeconds = ageSeconds
      checkTimestamp(header.t, scheme, settings.toleranceSeconds, ageSeconds)
      state.isVerified = true
      state.secretIndex = secretIndex

      const envelope = parseEnvelope(rawBody)
      const kind = envelope.type
      state.kind = kind
      const handler = settings.handlerFor(kind)
      if (handler === undefined) {
        state.reportUnhandled()
        return state.end(UNHANDLED)
      }

      // The key is made before the data is checked, so that a schema that changes its input cannot change the key.
      let eventKey: EventKey | null
      try {
        // A promise is a digest: a key function is synchronous.
        eventKey = await keyOf(settings.key, envelope, { rawBody, request, secretIndex, account })
      } catch (fault) {
        // If the data is invalid too, checkData throws: that is the likelier cause.
        await clock.inTime(Promise.resolve(checkData(envelope, settings.schemas)), timedOut)
        throw fault
      }
      const key = eventKey === null ? null : eventKey(settings.namespace, id ?? null)
      if (key !== null) state.key = key
      const checked = checkData(envelope, settings.schemas)
      const event = isPromise(checked) ? await clock.inTime(checked, timedOut) : checked

      if (settings.places !== undefined) {
        state.keepAlive()
        state.place = await settings.places.take(`${settings.namespace}/${id}`, clock, settings)
        if (state.place === undefined) {
          state.reportOverload(settings.places.limits)
          return state.end(overloaded())
        }
      }

      // The guard claims the event, has its handler run, and records the end.
      const verified = { t: header.t, secretIndex, rawBody, key, account }
      const asked = { eventKey, key, id, account, request, rawBody }
      const calls: RunCalls = {
        wasHandledBefore: askingBefore(settings.handledBefore, event, asked),
        handler: (grant) => handler(event, contextOf(state, grant, verified, scheme)),
      }
      return state.end(await runOnce(key, state, calls, settings))
    } catch (fault) {
      // The signature of a body that was cut off cannot match: then the fault is body_incomplete, and no forgery.
      return state.end(outcomeOfFault(await incompleteIfCutOff(fault, delivery, clock)))
    }
  }

  function timedOut(): never {
    throw timedOutBeforeRun(settings.timeoutMs)
  }

  return {
    receive,
    health: healthOf(drain, settings.guard.check),
    // It may be given as a listener, which gets arguments of all kinds: the app itself, in a hook of Fastify.
    drain: async (given) =>
      drain.close(checkTimerSeconds('graceSeconds', given?.graceSeconds ?? 0, 0) * 1000),
    headerName: scheme.header,
  }
}
