import type { UnknownEvent } from '../event/events.js'
import { giveRequest } from '../event/handlers.js'
import { type EventKey, type KeyContext, keyOf, storedKey } from '../event/key.js'
import { checkData, parseEnvelope } from '../event/payload.js'
import type { SchemaMap } from '../event/schema.js'
import { type Caller, checkedFor } from '../lib/call-site.js'
import { checkTimerSeconds } from '../lib/check-number.js'
import { checkNodeVersion } from '../lib/node-version.js'
import { isPromise } from '../lib/promises.js'
import { Drain } from '../operation/drain.js'
import { healthOf } from '../operation/health.js'
import type { Operations } from '../operation/operations.js'
import { replaying } from '../operation/replay.js'
import type { RunSlots } from '../operation/run-slots.js'
import type { Account } from '../signature/account.js'
import { parseSignatureHeader } from '../signature/header.js'
import { verified } from '../signature/match.js'
import { incompleteIfCutOff, readBody } from './body/body.js'
import { contextOf } from './context.js'
import { DefaultLog } from './default-log.js'
import { type AuthenticDelivery, type Delivery, mismatchHint } from './delivery.js'
import { DeliveryFailure } from './failure/delivery-failure.js'
import { askingBefore } from './handled-before.js'
import type { WebhookOptions } from './options/options.js'
import { resolveSettings } from './options/settings.js'
import {
  draining,
  METHOD_NOT_ALLOWED,
  type Outcome,
  outcomeOfFault,
  overloaded,
  parked,
  UNHANDLED,
} from './outcome.js'
import { type RunCalls, runOnce, timedOutBeforeRun } from './run.js'
import { DeliveryState } from './state.js'

/** Turns deliveries into outcomes. Adapters translate requests and responses. */
export interface Receiver<Request = unknown> extends Operations<Request> {
  /** Processes one delivery and resolves with its outcome. Never rejects. */
  receive(delivery: Delivery<Request>): Promise<Outcome>
  /** The lower-case name of the signature header. */
  readonly headerName: string
}

/**
 * Makes a receiver: the core of all adapters, without any framework.
 *
 * @throws TypeError that names the option and the fix
 * @throws ConfigurationError on a Node below 20.19
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
  checkNodeVersion()
  const settings = checkedFor(caller, () => resolveSettings(options))
  const { scheme } = settings
  const drain = new Drain()
  const shared = { settings, drain, log: new DefaultLog(options.namespace) }

  /**
   * Takes one delivery from its arrival to its outcome. The order of the steps matters: nothing is read without a valid header, and nothing
   * is parsed before its signature matches. Each step may throw the fault that ends the delivery. The account or secret function and the
   * schemas are awaited with `inTime`. The other awaits need none: the reader of the body and the run keep to the deadline themselves, and an
   * HMAC or a digest waits for nothing.
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
      const found = settings.signerFor(delivery.request, state)
      const { keys, account } = isPromise(found) ? await clock.inTime(found, timedOut) : found
      const hintOf = (): string | undefined => mismatchHint(delivery)
      const proven = await verified(header, rawBody, keys, settings, hintOf, state)
      state.isVerified = true
      state.secretIndex = proven.secretIndex

      return await handle(state, { rawBody, ...proven, account })
    } catch (fault) {
      // The signature of a body that was cut off cannot match: then the fault is body_incomplete, and no forgery.
      return state.end(outcomeOfFault(await incompleteIfCutOff(fault, delivery, clock)))
    }
  }

  /**
   * Takes an authentic delivery, or the replay of one, to its outcome: data that no handler takes is not checked. Never rejects.
   *
   * @param replayedKey the key of the event that is replayed, as it is kept
   */
  async function handle(
    state: DeliveryState<Request>,
    delivery: AuthenticDelivery,
    replayedKey?: string,
  ): Promise<Outcome> {
    state.failure =
      settings.failureTerms && new DeliveryFailure(settings.failureTerms, state, delivery, replayedKey)
    try {
      const envelope = parseEnvelope(delivery.rawBody)
      state.isOf(envelope)
      const handler = settings.handlerFor(envelope.type)
      if (handler === undefined) {
        state.reportUnhandled()
        return state.end(UNHANDLED)
      }

      const eventKey = await keyFor(envelope, state, delivery, replayedKey)
      const key = eventKey === null ? null : eventKey(settings.namespace, state.account ?? null)
      // It was kept under a key of its bytes: nothing was listed for its own key.
      if (state.replayed && key !== replayedKey) state.replay = { seen: 0 }
      state.hasKey(key)
      const checked = checkData(envelope, settings.schemas)
      const event = isPromise(checked) ? await state.clock.inTime(checked, timedOut) : checked

      const overload = settings.slots && (await takeSlot(state, settings.slots))
      if (overload !== undefined) return state.end(overload)

      // The guard claims the event, has its handler run, and records the end.
      const calls: RunCalls = {
        wasHandledBefore:
          settings.handledBefore && askingBefore(settings.handledBefore, event, eventKey, state, delivery),
        handler: (grant) => handler(event, contextOf(state, grant, delivery)),
      }
      return state.end(await runOnce(key, state, calls, settings))
    } catch (fault) {
      return state.end(await keptBeforeRun(outcomeOfFault(fault), state))
    }
  }

  /** The key of the event; `null` if it is to run without one. It is made before the data is checked, so that a schema that changes its input cannot change the key. */
  async function keyFor(
    envelope: UnknownEvent,
    state: DeliveryState<Request>,
    { rawBody, secretIndex, account }: AuthenticDelivery,
    replayedKey: string | undefined,
  ): Promise<EventKey | null> {
    const known = replayedKey && storedKey(replayedKey, settings.namespace, state.account)
    if (known) return known
    const keyed: Omit<KeyContext, 'request'> = { rawBody, secretIndex, account }
    giveRequest(keyed, state)
    try {
      return await keyOf(settings.key, envelope, keyed as KeyContext<Request>)
    } catch (fault) {
      // If the data is invalid too, checkData throws: that is the likelier cause.
      await state.clock.inTime(Promise.resolve(checkData(envelope, settings.schemas)), timedOut)
      throw fault
    }
  }

  /** Waits for a place among the runs. @returns the outcome if there is none in time */
  async function takeSlot(state: DeliveryState<Request>, slots: RunSlots): Promise<Outcome | undefined> {
    state.keepAlive()
    const sender = { namespace: settings.namespace, account: state.account }
    const slot = await slots.take(sender, state.clock, settings)
    if (typeof slot !== 'string') {
      state.slot = slot
      return undefined
    }
    state.reportOverload(slot, slots.limits)
    return overloaded()
  }

  /** Keeps the failure of a delivery that ended before its run: before the answer if there is time, else after it. */
  async function keptBeforeRun(outcome: Outcome, state: DeliveryState<Request>): Promise<Outcome> {
    if (!state.failure?.isKept(outcome)) return outcome
    const keeping = settings.guard.keep(state, outcome)
    state.track(keeping)
    return (await state.clock.inTime(keeping, () => false)) ? parked(outcome.error) : outcome
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
    replay: replaying(settings, shared, handle),
    headerName: scheme.header,
  }
}
