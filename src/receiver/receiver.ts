import { isUnreached, RunError, StoreError } from '../errors.js'
import type { UnknownEvent } from '../event/events.js'
import { checkData, parseEnvelope } from '../event/payload.js'
import type { SchemaMap } from '../event/schema.js'
import type { Inbox } from '../idempotency/inbox.js'
import type { ClaimResult, Lease } from '../idempotency/store.js'
import { SETTLING_MS } from '../idempotency/store-call.js'
import { tokenSource } from '../idempotency/token.js'
import { callSafely } from '../lib/call-safely.js'
import { type Caller, checkedFor } from '../lib/call-site.js'
import { Deadline } from '../lib/deadline.js'
import { isPromise } from '../lib/maybe-promise.js'
import { monotonicMs } from '../lib/timers.js'
import { parseSignatureHeader } from '../signature/header.js'
import { matchSignature } from '../signature/match.js'
import { checkTimestamp, signatureAgeSeconds } from '../signature/signature.js'
import { blame, readBody } from './body.js'
import { DefaultLog } from './default-log.js'
import { type Delivery, type Facts, mismatchHint } from './delivery.js'
import { createGate } from './drain.js'
import { contextOf, type Job, type Protection, UNPROTECTED } from './job.js'
import { defaultKey, type KeyFunction, keyPartOf, storedKey } from './key.js'
import { claim, type Doubts, HeldLease } from './lease.js'
import type { WebhookOptions } from './options.js'
import {
  DRAINING,
  DUPLICATE,
  inFlight,
  METHOD_NOT_ALLOWED,
  type Outcome,
  outcomeOfFault,
  RETRY_MS,
  UNHANDLED,
} from './outcome.js'
import { Report } from './report.js'
import { LazyAbort, Run, type RunRecord } from './run.js'
import { resolveSettings } from './settings.js'
import { openTransaction } from './transaction.js'

/** What answers deliveries; every adapter is a translation to and from it. */
export interface Receiver<Request = unknown> {
  /** Takes one delivery to its outcome. Never rejects. */
  receive(delivery: Delivery<Request>): Promise<Outcome>
  /** Refuses new deliveries with 503 before anything of them is read, and resolves when the running handlers have settled or are given up. */
  drain(): Promise<void>
  /** The lower-case name of the signature header. */
  readonly headerName: string
}

/**
 * Makes a receiver: the core of all adapters, with no framework in it.
 *
 * @param caller the function that the user calls, for the stack of the `TypeError`: an adapter passes its own. Default: this one
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
>(options: WebhookOptions<Request, Tx, Schemas>, caller: Caller = createReceiver): Receiver<Request> {
  const settings = checkedFor(caller, () => resolveSettings(options))
  const { scheme, schemas, store, inbox } = settings
  const gate = createGate()
  const nextToken = tokenSource()
  const log = new DefaultLog(settings.namespace)
  const doubts: Doubts = new Set()

  /** Store calls go on after the answer. */
  function trackSettling(work: Promise<unknown>): void {
    gate.track(work, { endsAtMs: monotonicMs() + SETTLING_MS })
  }

  function receive(delivery: Delivery<Request>): Promise<Outcome> {
    const facts: Facts = {}
    const deadline = new Deadline(settings.timeoutMs)
    const report = new Report(settings, delivery, facts, deadline, log)
    gate.enter(deadline)
    const ended = gate.closed ? Promise.resolve(DRAINING) : deliver(delivery, facts, report, deadline)
    return ended.then((outcome) => {
      try {
        deadline.clear()
        report.end(outcome)
      } catch {
        // A report decides nothing, and a prototype that was polluted can make any of its steps throw.
      } finally {
        gate.leave(deadline)
      }
      return outcome
    })
  }

  /**
   * What is done to a delivery, in this order; nothing may be reordered. Each step may throw the fault that ends it. What a
   * step gives at once is not awaited, because each await costs more than most steps.
   */
  async function deliver(
    delivery: Delivery<Request>,
    facts: Facts,
    report: Report<Request>,
    deadline: Deadline,
  ): Promise<Outcome> {
    try {
      if (delivery.method !== undefined && delivery.method !== 'POST') return METHOD_NOT_ALLOWED

      const header = parseSignatureHeader(delivery.header, scheme)
      const body = readBody(delivery.body, settings.maxBodyBytes, deadline)
      const rawBody = isPromise(body) ? await body : body

      const secrets = settings.secretKeysFor(delivery.request)
      const keys = isPromise(secrets) ? await inTime(secrets, deadline) : secrets
      const match = matchSignature(header, rawBody, keys, scheme, () => mismatchHint(delivery))
      const secretIndex = isPromise(match) ? await match : match
      facts.signatureAgeSeconds = signatureAgeSeconds(header.t, scheme, settings.now())
      checkTimestamp(header.t, scheme, settings.toleranceSeconds, facts.signatureAgeSeconds)

      const envelope = parseEnvelope(rawBody)
      facts.kind = envelope.type
      const handler = settings.handlerFor(envelope.type)
      if (handler === undefined) {
        report.unwanted()
        return UNHANDLED
      }

      // Before the data is checked, so that a schema which changes its input cannot change the key.
      const namespace = settings.namespaceFor(delivery.request)
      const stored =
        settings.key === undefined
          ? defaultKey(namespace, envelope, rawBody)
          : keyByFunction(settings.key, namespace, envelope, rawBody, delivery.request, deadline)
      const key = isPromise(stored) ? await stored : stored
      if (key !== null) facts.key = key
      const data = checkData(envelope, schemas)
      const event = isPromise(data) ? await inTime(data, deadline) : data

      const abort = new LazyAbort()
      const job = {
        delivery,
        facts,
        report,
        deadline,
        rawBody,
        t: header.t,
        secretIndex,
        key,
        event,
        handler,
        abort,
      }
      if (inbox !== undefined) return await runInTransaction(job, inbox)
      return await (key === null ? run(job, UNPROTECTED) : runOnLease(job, key))
    } catch (fault) {
      const blamed = blame(fault, delivery, deadline)
      return outcomeOfFault(isPromise(blamed) ? await blamed : blamed)
    }
  }

  /** Where both the key function and the check of the data fail, the data is to blame. */
  async function keyByFunction(
    keyFunction: KeyFunction<Request>,
    namespace: string,
    envelope: UnknownEvent,
    rawBody: Uint8Array,
    request: Request,
    deadline: Deadline,
  ): Promise<string | null> {
    let part: string | null
    try {
      part = keyPartOf(keyFunction, envelope, { rawBody, request })
    } catch (fault) {
      await inTime(Promise.resolve(checkData(envelope, schemas)), deadline)
      throw fault
    }
    return part === null ? null : storedKey(namespace, envelope.type, part)
  }

  /** Runs the handler if the store grants it: the event may have been handled, or be under way elsewhere. */
  async function runOnLease(job: Job<Request>, key: string): Promise<Outcome> {
    const { facts, report, deadline } = job
    const { leaseMs, retainMs } = settings
    const lease: Lease = { key, token: nextToken() }
    const claimedAtMs = monotonicMs()
    let result: ClaimResult
    try {
      result = await claim(
        store,
        { key, token: lease.token, leaseMs, retainMs },
        deadline,
        trackSettling,
        doubts,
      )
    } catch (fault) {
      // A store that is full, or misbehaves, is reached: only one that is not may be done without.
      if (settings.storeFailure === 'reject' || !isUnreached(fault)) throw fault
      report.fault(fault)
      return run(job, UNPROTECTED)
    }
    if (result.status === 'completed') return DUPLICATE
    if (result.status === 'in-flight') {
      // Maybe nobody handles it: the lease may be that of a claim which was given up, and is released soon.
      return inFlight(doubts.has(key) ? Math.min(result.retryAfterMs, RETRY_MS) : result.retryAfterMs)
    }
    const { attempt } = result
    facts.attempt = attempt
    const held = new HeldLease({
      store,
      lease,
      claimedAtMs,
      leaseMs,
      retainMs,
      timers: deadline.timers,
      onLost: (reason) => job.abort.abort(reason),
      report: (error) => report.fault(error),
      track: (work) => {
        trackSettling(work)
        callSafely(job.delivery.waitUntil, work)
      },
    })
    if (held.hasRunOut) {
      trackSettling(held.settle(outcomeOfFault(grantedTooLate())))
      throw grantedTooLate()
    }
    return run(job, { deduplicated: true, attempt, tx: undefined }, held)
  }

  /** Runs the handler in a transaction of the inbox, unless the event has been handled or is under way elsewhere. */
  async function runInTransaction(job: Job<Request>, inbox: Inbox<unknown>): Promise<Outcome> {
    const { key, deadline } = job
    const { retainMs, maxRunMs } = settings
    const opened = await openTransaction(inbox, { key, retainMs, maxRunMs }, deadline, (reason) =>
      job.abort.abort(reason),
    )
    if (opened === 'duplicate') return DUPLICATE
    if (opened === 'in-flight') return inFlight(RETRY_MS)
    return run(job, { deduplicated: key !== null, tx: opened.tx }, opened)
  }

  /** Runs the handler, has its end recorded where there is a record, and answers at the deadline though the handler goes on. */
  function run(job: Job<Request>, protection: Protection, record?: RunRecord): Promise<Outcome> {
    const { delivery, report, deadline, event, abort } = job
    // By the clock: where the event loop was blocked, the timer has not had its turn yet.
    if (deadline.passed) {
      const fault = timedOutBeforeRun()
      if (record !== undefined) trackSettling(record.settle(outcomeOfFault(fault)))
      throw fault
    }

    const { maxRunMs } = settings
    const { timers } = deadline
    const callHandler = (): unknown => job.handler(event, contextOf(job, protection, scheme))
    const onOutlived = (outlived: Run, answer: Outcome): void => report.lateEnd(outlived, answer)
    const started = new Run({ kind: event.type, callHandler, record, maxRunMs, abort, timers, onOutlived })
    deadline.onPass(() => {
      if (started.isFinished) return
      const finished = started.finished()
      gate.track(finished, started)
      callSafely(() => delivery.waitUntil?.(finished))
      started.outlive(outcomeOfFault(handlerTimedOut(event.type, record?.hint?.() ?? '')))
    })
    return started.answer
  }

  function inTime<T>(work: Promise<T>, deadline: Deadline): Promise<T> {
    return deadline.race(work, () => {
      throw timedOutBeforeRun()
    })
  }

  function grantedTooLate(): StoreError {
    return new StoreError(
      'store_unavailable',
      `The store granted the run after its lease of ${settings.leaseMs / 1000} s (leaseSeconds) had ended, so another delivery may run: the store is slow, or the event loop was blocked.`,
    )
  }

  function timedOutBeforeRun(): RunError {
    return new RunError(
      'timed_out',
      `${settings.timeoutMs / 1000} s (timeoutSeconds) passed before a handler started: the secret function, a schema or the store is slow, or the event loop was blocked.`,
    )
  }

  function handlerTimedOut(kind: string, hint: string): RunError {
    return new RunError(
      'timed_out',
      `The handler of ${kind} had not returned after ${settings.timeoutMs / 1000} s (timeoutSeconds): the sender was asked to retry, and the handler continues. Hand long work to a queue, or raise timeoutSeconds if the sender waits longer.${hint === '' ? '' : ` ${hint}`}`,
    )
  }

  return { receive, drain: () => gate.close(), headerName: scheme.header }
}
