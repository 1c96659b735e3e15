import { readBody } from './body.js'
import { callSafely } from './call-safely.js'
import { type Deadline, monotonicMs, startDeadline } from './deadline.js'
import { type Delivery, type Facts, mismatchHint } from './delivery.js'
import { RunError } from './errors.js'
import type { UnknownEvent } from './events.js'
import { createGate } from './gate.js'
import type { Inbox } from './inbox.js'
import { contextOf, type Job, type Protection, UNPROTECTED } from './job.js'
import { defaultKeyPart, keyPartOf, storedKey } from './key.js'
import { claim, holdLease } from './lease.js'
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
import { checkData, parseEnvelope } from './payload.js'
import { type Report, reporter } from './report.js'
import { lazyAbort, type RunRecord, recordOnLease, startRun } from './run.js'
import type { SchemaMap } from './schema.js'
import { resolveSettings } from './settings.js'
import { checkTimestamp, matchSignature, signatureAgeSeconds } from './signature.js'
import { parseSignatureHeader } from './signature-header.js'
import type { ClaimResult, Lease } from './store.js'
import { tokenSource } from './token.js'
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
  Schemas extends SchemaMap = Record<never, never>,
>(options: WebhookOptions<Request, Tx, Schemas>): Receiver<Request> {
  const settings = resolveSettings(options)
  const { scheme, schemas, store, inbox } = settings
  const reportOn = reporter(settings)
  const gate = createGate()
  const nextToken = tokenSource()

  function receive(delivery: Delivery<Request>): Promise<Outcome> {
    const receiving = receiveToTheEnd(delivery)
    gate.track(receiving)
    return receiving
  }

  async function receiveToTheEnd(delivery: Delivery<Request>): Promise<Outcome> {
    const facts: Facts = {}
    const report = reportOn(delivery, facts)
    const outcome = gate.closed ? DRAINING : await deliverInTime(delivery, facts, report)
    report.end(outcome)
    return outcome
  }

  async function deliverInTime(delivery: Delivery<Request>, facts: Facts, report: Report): Promise<Outcome> {
    const deadline = startDeadline(settings.timeoutMs)
    try {
      return await deliver(delivery, facts, report, deadline)
    } catch (fault) {
      return outcomeOfFault(fault)
    } finally {
      deadline.clear()
    }
  }

  /** What is done to a delivery, in this order; nothing may be reordered. Each step may throw the fault that ends it. */
  async function deliver(
    delivery: Delivery<Request>,
    facts: Facts,
    report: Report,
    deadline: Deadline,
  ): Promise<Outcome> {
    if (delivery.method !== undefined && delivery.method !== 'POST') return METHOD_NOT_ALLOWED

    const header = parseSignatureHeader(delivery.header, scheme)
    const rawBody = await readBody(delivery.body, settings.maxBodyBytes, deadline)

    const keys = await deadline.race(settings.secretKeysFor(delivery.request), throwTimedOut)
    const verified = await matchSignature(header, rawBody, keys, scheme, mismatchHint(delivery))
    facts.signatureAgeSeconds = signatureAgeSeconds(header.t, scheme, settings.now())
    checkTimestamp(header.t, scheme, settings.toleranceSeconds, facts.signatureAgeSeconds)

    const envelope = parseEnvelope(rawBody)
    facts.kind = envelope.type
    const handler = settings.handlerFor(envelope.type)
    if (handler === undefined) return UNHANDLED

    const key = await keyOf(envelope, rawBody, delivery.request, deadline)
    const event = await deadline.race(checkData(envelope, schemas), throwTimedOut)

    if (key !== null) facts.key = key
    const abort = lazyAbort()
    const job: Job<Request> = {
      delivery,
      facts,
      report,
      deadline,
      rawBody,
      verified,
      key,
      event,
      handler,
      abort,
    }
    if (inbox !== undefined) return runInTransaction(job, inbox)
    return key === null ? run(job, UNPROTECTED) : runOnLease(job, key)
  }

  /**
   * Before the data is checked, so that a schema which changes its input cannot change the key. Where both the key
   * function and the check fail, the data is to blame.
   */
  async function keyOf(
    envelope: UnknownEvent,
    rawBody: Uint8Array,
    request: Request,
    deadline: Deadline,
  ): Promise<string | null> {
    let part: string | null
    try {
      part =
        settings.key === undefined
          ? await defaultKeyPart(envelope)
          : keyPartOf(settings.key, envelope, { rawBody, request })
    } catch (fault) {
      await deadline.race(checkData(envelope, schemas), throwTimedOut)
      throw fault
    }
    return part === null ? null : storedKey(settings.namespace, envelope.type, part)
  }

  /** Runs the handler if the store grants it: the event may have been handled, or be under way elsewhere. */
  async function runOnLease(job: Job<Request>, key: string): Promise<Outcome> {
    const { facts, report, deadline } = job
    const { leaseMs, retainMs } = settings
    const lease: Lease = { key, token: nextToken() }
    const claimedAtMs = monotonicMs()
    let result: ClaimResult
    try {
      result = await claim(store, { ...lease, leaseMs, retainMs }, deadline, gate.track)
    } catch (fault) {
      if (settings.storeFailure === 'reject') throw fault
      report.fault(fault)
      return run(job, UNPROTECTED)
    }
    if (result.status === 'completed') return DUPLICATE
    if (result.status === 'in-flight') return inFlight(result.retryAfterMs)
    const { attempt } = result
    facts.attempt = attempt
    const onLost = job.abort.abort
    const held = holdLease({ store, lease, claimedAtMs, leaseMs, retainMs, onLost, report: report.fault })
    return run(job, { deduplicated: true, attempt, tx: undefined }, recordOnLease(held))
  }

  /** Runs the handler in a transaction of the inbox, unless the event has been handled or is under way elsewhere. */
  async function runInTransaction(job: Job<Request>, inbox: Inbox<unknown>): Promise<Outcome> {
    const { key, deadline } = job
    const opened = await openTransaction(inbox, { key, retainMs: settings.retainMs }, deadline)
    if (opened === 'duplicate') return DUPLICATE
    if (opened === 'in-flight') return inFlight(RETRY_MS)
    return run(job, { deduplicated: key !== null, tx: opened.tx }, opened)
  }

  /** Runs the handler, has its end recorded where there is a record, and answers at the deadline though the handler goes on. */
  async function run(job: Job<Request>, protection: Protection, record?: RunRecord): Promise<Outcome> {
    const { delivery, report, deadline, event, abort } = job
    // By the clock: where the event loop was blocked, the timer has not had its turn yet.
    if (deadline.passed) {
      const fault = timedOutBeforeRun()
      if (record !== undefined) gate.track(record.settle(outcomeOfFault(fault)))
      throw fault
    }

    const callHandler = (): unknown => job.handler(event, contextOf(job, protection))
    const started = startRun({ kind: event.type, callHandler, record, maxRunMs: settings.maxRunMs, abort })
    gate.track(started.finished)
    const outcome = await deadline.race(started.finished, () => {
      callSafely(delivery.waitUntil, started.finished)
      return started.outcomeSoFar ?? outcomeOfFault(handlerTimedOut(event.type))
    })
    if (!started.isSettled) report.lateEnd(started, outcome)
    return outcome
  }

  function throwTimedOut(): never {
    throw timedOutBeforeRun()
  }

  function timedOutBeforeRun(): RunError {
    return new RunError(
      'timed_out',
      `${settings.timeoutMs / 1000} s (timeoutSeconds) were over before a handler was started: the secret function, a schema or the store is slow, or the event loop was blocked.`,
    )
  }

  function handlerTimedOut(kind: string): RunError {
    return new RunError(
      'timed_out',
      `The handler of ${kind} had not returned after ${settings.timeoutMs / 1000} s (timeoutSeconds): the sender is told to come again, and the handler goes on. Hand long work to a queue, or raise timeoutSeconds if the sender waits longer.`,
    )
  }

  return { receive, drain: () => gate.close(), headerName: scheme.header }
}
