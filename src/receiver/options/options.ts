import type { HandledEvent, Handler, Handlers } from '../../event/handlers.js'
import type { KeyFunction } from '../../event/key.js'
import type { SchemaMap } from '../../event/schema.js'
import type { Inbox } from '../../ledger/inbox.js'
import type { IdempotencyStore } from '../../ledger/store.js'
import type { Account, AccountFunction } from '../../signature/account.js'
import type { SignatureOptions } from '../../signature/scheme.js'
import type { Secrets } from '../../signature/secrets.js'
import type { HandledBefore } from '../handled-before.js'
import type { OutcomeCode, OutcomeName } from '../outcome.js'

/** Keeps TypeScript from inferring a type from `on`. TypeScript's own `NoInfer` came with 5.4; this works from 5.0. */
type NotInferred<T> = [T][T extends unknown ? 0 : never]

/**
 * The options of `createReceiver` and of every `tixWebhooks`.
 *
 * @typeParam Request the framework's own request
 * @typeParam Tx the transaction of the inbox; `undefined` without one
 * @typeParam Schemas the type of the option `schemas`
 * @typeParam Found the accounts; `undefined` without the option `account`
 */
export interface WebhookOptions<
  Request = unknown,
  Tx = undefined,
  Schemas extends SchemaMap<keyof Schemas> = Record<never, never>,
  Found extends Account | undefined = undefined,
> {
  /**
   * The endpoint's signing secret, a list during a rotation, or a function of the request. A function is called for each delivery; if it
   * throws or rejects, the delivery is `unavailable`, and retried. A string is used as its UTF-8 bytes, literally. For several accounts
   * on one route there is `account`.
   */
  secret?: Secrets | ((request: Request) => Secrets | Promise<Secrets>)
  /**
   * Instead of `secret`: returns the account of a request, `{ id, secret, … }`, for `ctx.account`. This is for several accounts on one
   * route. Called for each delivery, before the signature is checked. Its id becomes part of every key. `undefined` or `null` is an
   * unknown account: 401. If it throws or rejects, the delivery is `unavailable`, and retried. Annotate its request, so that handlers get
   * its type.
   */
  account?: AccountFunction<Request, Found> | undefined
  /**
   * Handlers by kind (`order.created`) and by group (`event.*`); the most specific one runs, and no other. A plain object: an instance of
   * a class, or an object that inherits its handlers, is refused, and so is an empty one without `onUnhandled`.
   */
  on: Handlers<Request, NotInferred<Tx>, NotInferred<Schemas>, NotInferred<Found>>
  /**
   * The handler of every other authentic event. Without it such events get 200 and are ignored; if there is no `onDelivery` either, the
   * first of each kind is logged.
   */
  onUnhandled?:
    | Handler<HandledEvent<NotInferred<Schemas>>, Request, NotInferred<Tx>, NotInferred<Found>>
    | undefined
  /** Standard Schemas by kind (zod, valibot, arktype, `unchecked<T>()`): they check and type the data, and add kinds. */
  schemas?: Schemas | undefined
  /**
   * Remembers handled events; or a function of the request that makes the store. A function is for a client that belongs to a request, as
   * on Workers: it is called once a delivery is verified and has a handler, and awaited for 2 s. If it throws or rejects, the delivery is
   * `unavailable`; if it returns no store, `misconfigured`. Default: a `memoryStore()`, which forgets at each restart.
   */
  store?: IdempotencyStore | ((request: Request) => IdempotencyStore | Promise<IdempotencyStore>) | undefined
  /**
   * Instead of `store`: commits what handlers write through `ctx.tx` together with the record of the event. A function of the request
   * that makes the inbox is called in the same way.
   */
  inbox?: Inbox<Tx> | ((request: Request) => Inbox<Tx> | Promise<Inbox<Tx>>) | undefined
  /**
   * Separates the events of this endpoint in a shared store; required with `store` and `inbox`. From 1 to 64 characters of
   * `A-Z a-z 0-9 . _ -`. Default `'default'`.
   */
  namespace?: string | undefined
  /** The key that an event is deduplicated by, as a function. Default: the order's id for `order.created`, else a digest of the event. */
  key?: KeyFunction<Request, NotInferred<Found>> | undefined
  /**
   * Whether another receiver has handled the event, for a move. Called whenever the event is about to run, if it has a key. `true`: it is
   * recorded as handled, 200, and nothing runs. If it throws or rejects, the delivery is `unavailable`, and a retry calls it again.
   */
  handledBefore?: HandledBefore<HandledEvent<NotInferred<Schemas>>, Request, NotInferred<Found>> | undefined
  /** How far the signature's timestamp may be from now. In seconds, in both directions. Default 300; above 0. */
  toleranceSeconds?: number | undefined
  /** The longest time until the answer, even if the handler is still running. In seconds from the request's arrival. Default 10. */
  timeoutSeconds?: number | undefined
  /** The time after which a handler that has not settled is given up. In seconds. Default 300. */
  maxRunSeconds?: number | undefined
  /**
   * How long a crashed process blocks an event. In seconds; renewed every third of that while the handler runs. Default 60; at least 0.1.
   */
  leaseSeconds?: number | undefined
  /**
   * How long an event is kept, from its completion or its last failed delivery. In seconds. Default 2,592,000 (30 days) with a
   * ledger, else 604,800 (7 days); at least 262,800 (73 h) and the tolerance.
   */
  retentionSeconds?: number | undefined
  /** The largest accepted body, in bytes. Default 1,048,576. */
  maxBodyBytes?: number | undefined
  /**
   * The most runs at once, a number or `{ runs, perAccount }`; others wait, and then get 503 `overloaded`. A run is counted until it is
   * over, even if it outlives its answer. The others wait for at most half of `timeoutSeconds`, accounts in turn. Default: with an inbox
   * on a pool of pg, postgres.js or mysql2, its connections but one; else no limit; with `account`, half of the runs for each account.
   * The limit of a pool is at least one, and is shared by all receivers of the pool that have no limit of their own; the runs of the
   * others are not counted in it. Keep a limit of your own below the connections too: a run that finds none is `unavailable`.
   */
  concurrency?: number | Concurrency | undefined
  /**
   * What a ledger keeps: `failed`, every authentic event that was not handled, with its bytes, until a delivery or `replay` handles it;
   * `nothing`, only which events were handled. Every store and inbox of ours is a ledger, except Redis. Default `'failed'`.
   */
  keep?: 'nothing' | 'failed' | undefined
  /**
   * With a ledger, `{ attempts, hours }`: an event that fails in this many deliveries, or for this long, gets 200 and waits for `replay`. Either may be
   * left out. The hours count from the first failure; whichever is reached first parks it. Default: it fails until the service gives up, and is
   * kept too.
   */
  parkAfter?: ParkAfter | undefined
  /** How the service signs. */
  signature?: SignatureOptions | undefined
  /** Called with the record of each delivery, and its request. Exactly once, whatever its end. Not awaited; its first error is logged. */
  onDelivery?: ((record: DeliveryRecord, ctx: DeliveryContext<Request>) => unknown) | undefined
  /**
   * Called with each error, for your logs. It does not change the answer. Not awaited; if it throws or rejects, the default log has its own
   * first error, and each error that it was called with. Default: the framework's logger, else `console.error`. The default log has the
   * stack and the causes of errors of your own code, without the bound parameters of a database (`redactError`), and only the message of
   * the package's errors; what ends before the signature is verified is limited to a few lines a minute.
   */
  onError?: ((error: unknown, ctx: ErrorContext<Request>) => unknown) | undefined
  /**
   * The wall clock, in milliseconds since the epoch. Also for the retention of the default store; its leases, and all deadlines, are
   * monotonic. Default `Date.now`.
   */
  now?: (() => number) | undefined
}

/** When an event that fails is parked: by the first of the two that is reached, of which one may be absent. */
export type ParkAfter =
  | {
      /** Deliveries that failed; replays do not count. At least 1. */
      readonly attempts: number
      /** Hours since the first failure. Above 0. */
      readonly hours?: number | undefined
    }
  | { readonly attempts?: number | undefined; readonly hours: number }

/** The limits of the option `concurrency`. */
export interface Concurrency {
  /** The most runs at the same time; `Infinity` for no limit. */
  readonly runs: number
  /** The most of one account, with the option `account`. Default: half of `runs`, rounded up; `Infinity` for no limit of its own. */
  readonly perAccount?: number | undefined
}

/** The record of one delivery. */
export interface DeliveryRecord {
  /** How it ended. */
  readonly outcome: OutcomeName
  /** The HTTP status of the answer. */
  readonly status: number
  /** Present if the status is not 200. */
  readonly code?: OutcomeCode
  /** Present once the envelope was read. */
  readonly kind?: string
  /** Present once the event had a key. */
  readonly key?: string
  /** The id of the account, even if the signature did not match. Present once it was found. */
  readonly account?: string
  /** Present once the store had granted the run. */
  readonly attempt?: number
  /** The index of the secret that matched; present once the delivery was verified. It shows when an old secret is no longer used. */
  readonly secretIndex?: number
  /** Present once the signature was verified. */
  readonly signatureAgeSeconds?: number
  /** True for a replay; absent for a delivery. */
  readonly replayed?: boolean
  /** From the request's arrival to its answer. In milliseconds, monotonic. */
  readonly durationMs: number
  /** The error, if there was one. */
  readonly error?: unknown
}

/** The request of a delivery, for its record. */
export interface DeliveryContext<Request = unknown> {
  /** The framework's own request; `undefined` for a replay without one. */
  readonly request: Request
}

/** The delivery that an error belongs to. */
export interface ErrorContext<Request = unknown> extends DeliveryContext<Request> {
  /** The id of the account; present once it was found, also if the signature did not match. */
  readonly account?: string
  /** Present once the envelope was read. */
  readonly kind?: string
  /** Present once the event had a key. */
  readonly key?: string
}
