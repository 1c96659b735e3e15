import type { FailureState } from '../ledger/failure.js'
import type { EventFilter } from '../ledger/ledger.js'
import type { Outcome } from '../receiver/outcome.js'
import type { Health } from './health.js'

/** The events to replay: all conditions must hold. */
export interface ReplayFilter extends Pick<EventFilter, 'kind' | 'account' | 'group'> {
  /** Default: failing and parked. */
  readonly state?: FailureState | undefined
  /** The most that are replayed. 1 to 1,000. Default 100. */
  readonly limit?: number | undefined
}

/** @typeParam Request the framework's own request */
export interface ReplayOptions<Request = unknown> {
  /** For `ctx.request`, and for `account`, `store` and `inbox` if they are functions of it. With `account`, its events alone are replayed. */
  readonly request?: Request | undefined
}

/** The outcome of one replay of several. */
export interface Replayed extends Outcome {
  readonly key: string
}

/**
 * The calls for those who run the process: each receiver has them, and each `tixWebhooks(…)`.
 *
 * @typeParam Request the framework's own request
 */
export interface Operations<Request = unknown> {
  /**
   * Whether this process should get deliveries, for a readiness probe: it is not draining, and the store or the inbox can
   * be reached and has its tables. It takes 2 s at most, and never rejects. A store or an inbox that is a function of the request is not asked.
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
  /**
   * Handles an event that a ledger has kept now, once its cause is mended: its bytes are parsed and checked again, and go to the same handlers,
   * through the same store or inbox, so that an event that was handled meanwhile is a `duplicate`. If it is handled, its failure is removed; if
   * it fails again, that is counted, and it stays as it was, failing or parked. There is no signature to check: it was verified when the event
   * was kept. Of two processes that replay one event, one runs it; the other one gets `in_flight`.
   *
   * @param key of the event. One of another namespace, or of another account, is not found
   * @param options.request for `ctx.request`, and for `account`, `store` and `inbox` if they are functions of it. Default: reading it throws
   * @returns the outcome; `undefined` if no such event is failing or parked
   * @throws TypeError when the store or the inbox is no ledger, or one of the options needs a request and there is none
   * @throws StoreError when the ledger cannot be read
   * @example
   * ```ts
   * const replayed = await hooks.replay('orders/order.created/ord_1')
   * console.log(replayed?.outcome ?? 'not found')
   * ```
   */
  replay(key: string, options?: ReplayOptions<Request>): Promise<Outcome | undefined>
  /**
   * The same for several: those that were first received first, a few at a time until their runs are over, within `concurrency`.
   *
   * @param filter which; `{}` for any of this namespace. At most `limit` are replayed, from 1 to 1,000; default 100, for `{}` too
   * @returns the outcomes with their keys, in that order; fewer than there are if the ledger cannot be read further: call it again
   * @throws TypeError when the filter is invalid, or one of its conditions is there and undefined
   * @example
   * ```ts
   * const replayed = await hooks.replay({ group: 'a3c4f9e81b5d2760', limit: 1_000 })
   * const isDone = new Set(['handled', 'duplicate', 'discarded'])
   * const stillKept = replayed.filter(({ outcome }) => !isDone.has(outcome))
   * ```
   */
  replay(filter: ReplayFilter, options?: ReplayOptions<Request>): Promise<readonly Replayed[]>
  /** Both forms in one, for code that passes its argument on. */
  replay(
    what: string | ReplayFilter,
    options?: ReplayOptions<Request>,
  ): Promise<Outcome | undefined | readonly Replayed[]>
}

/** The operations of a receiver, for an adapter to put on its handler. */
export function operationsOf<Request>({ health, drain, replay }: Operations<Request>): Operations<Request> {
  return { health, drain, replay }
}
