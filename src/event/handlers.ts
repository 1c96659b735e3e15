import { describeType } from '../lib/describe-type.js'
import { isPlainObject, isRecord } from '../lib/option-names.js'
import {
  type AnyEvent,
  EVENT_KINDS,
  type EventOf,
  type GroupOf,
  type KindOf,
  type UnknownEvent,
} from './events.js'
import type { SchemaMap } from './schema.js'

/**
 * The context of a handler: everything besides the event.
 *
 * @typeParam Tx the transaction of the inbox
 * @typeParam Found the accounts
 */
export interface HandlerContext<Request = unknown, Tx = unknown, Found = unknown> {
  /** The framework's own request. Reading it throws if it is a replay, and `replay` was given none. */
  readonly request: Request
  /** The account, as the option `account` returned it. `undefined` without that option. */
  readonly account: Found
  /** The second argument of a `tix-webhooks/fetch` handler, such as a Worker's context. `undefined` with other adapters. */
  readonly platform?: unknown
  /** The event's key, as stored; `null` if it is not deduplicated. */
  readonly key: string | null
  /**
   * The number of this run of the event, from 1, as the store counts them. Absent with an inbox, and if the event runs without a record.
   * A fencing number on Postgres, MySQL and SQLite. A backend that loses the record (Redis, memory) restarts at 1.
   */
  readonly attempt?: number
  /** False if `key` returned `null`. The event then runs without deduplication. */
  readonly deduplicated: boolean
  /** Whether an event that failed before is replayed. */
  readonly replayed: boolean
  /** When the service signed this delivery. */
  readonly signedAt: Date
  /** The index of the secret that matched; of a replay, in the list as it was when the delivery arrived. */
  readonly secretIndex: number
  /** The bytes as they were sent. */
  readonly rawBody: Uint8Array
  /**
   * Aborts when the lease or the connection of an inbox is lost, or `maxRunSeconds` is over. Nothing else aborts it: finishing after the
   * deadline is a success. A listener must not throw: Node rethrows its error, which ends the process. A copy (`{ ...ctx }`) has no
   * signal: pass the context itself.
   */
  readonly signal: AbortSignal
  /** The transaction of the inbox. Writes through it are committed together with the record of the event. `undefined` without an inbox. */
  readonly tx: Tx
}

/**
 * Handles an event. When it returns, or its promise resolves, the event is handled; a `RetryLater` or a `Discard` that it throws or returns
 * is obeyed, and any other error makes the service retry. A list of promises is awaited. A `Response` that is not ok, a supabase-js result
 * with an error, or work that nothing has begun (a function, a generator object, an Observable), counts as an error.
 */
export type Handler<Event, Request = unknown, Tx = unknown, Found = unknown> = (
  event: Event,
  ctx: HandlerContext<Request, Tx, Found>,
) => unknown

/** The event that a key of `on` gets: one kind, or the union of a group. */
type EventForKey<Key extends string, Schemas> = Key extends `${infer Prefix}.*`
  ? EventOf<Extract<KindOf<Schemas>, `${Prefix}.${string}`>, Schemas>
  : Key extends KindOf<Schemas>
    ? EventOf<Key, Schemas>
    : never

/** Any event, with the data of `schemas` typed. */
export type HandledEvent<Schemas = Record<never, never>> = EventOf<KindOf<Schemas>, Schemas> | UnknownEvent

/**
 * Handlers by kind and by group; the most specific one runs, exactly one. For handlers that are not inline: `satisfies Handlers<Request>`.
 *
 * @typeParam Request the framework's own request
 * @typeParam Tx the transaction of the inbox
 * @typeParam Schemas the type of the option `schemas`
 * @typeParam Found the accounts
 */
export type Handlers<Request = unknown, Tx = unknown, Schemas = Record<never, never>, Found = unknown> = {
  [Key in KindOf<Schemas> | GroupOf<KindOf<Schemas>>]?:
    | Handler<EventForKey<Key, Schemas>, Request, Tx, Found>
    | undefined
}

/** A handler of any event, in any transaction, as the receiver calls it. */
export type AnyHandler<Request> = Handler<AnyEvent, Request>

/**
 * Finds the handler of a kind.
 *
 * @returns the look-up: exact kind, else the longest group of a listed kind, else `onUnhandled`, else nothing
 * @throws TypeError when `on` is empty without `onUnhandled`, is not a plain object, has a key that no listed kind could reach, or a
 * handler that is not a function
 */
export function handlerLookup<Request>(
  on: object,
  onUnhandled: AnyHandler<Request> | undefined,
  schemas: SchemaMap,
): (kind: string) => AnyHandler<Request> | undefined {
  if (!isRecord(on)) {
    throw new TypeError(
      `on must be a plain object of handlers by kind, such as { 'order.created': async (event) => {} }, not ${describeType(on)}.`,
    )
  }
  if (!isPlainObject(on)) {
    throw new TypeError(
      "on must be a plain object, not an instance of a class or an object that inherits: only its own properties are read. For a method write { 'order.created': (event, ctx) => hooks.orderCreated(event, ctx) }.",
    )
  }
  if (onUnhandled !== undefined) checkHandler('onUnhandled', onUnhandled)
  // Own properties only: a payload whose type is "constructor" must find nothing.
  const given = definedEntries(on)
  if (given.size === 0 && onUnhandled === undefined) {
    throw new TypeError(
      "on is empty and there is no onUnhandled: every event would be answered 200 and dropped. Add a handler, such as { 'order.created': async (event) => {} }.",
    )
  }
  const kinds = new Set<string>([...EVENT_KINDS, ...definedEntries(schemas).keys()])
  const groups = new Set([...kinds].flatMap(groupsOf))
  for (const [key, handler] of given) {
    if (!kinds.has(key) && !groups.has(key)) throw unknownKey(key, [...kinds, ...groups])
    checkHandler(`on["${key}"]`, handler)
  }

  const byKind = new Map<string, AnyHandler<Request>>()
  for (const kind of kinds) {
    const key = [kind, ...groupsOf(kind)].find((candidate) => given.has(candidate))
    if (key !== undefined) byKind.set(kind, given.get(key) as AnyHandler<Request>)
  }
  return (kind) => byKind.get(kind) ?? onUnhandled
}

/** An entry that is `undefined` counts as absent: `{ 'order.created': enabled ? handler : undefined }`. */
function definedEntries(record: Readonly<Record<string, unknown>>): Map<string, unknown> {
  const names = Object.getOwnPropertyNames(record).filter((name) => record[name] !== undefined)
  return new Map(names.map((name) => [name, record[name]]))
}

/** The groups of a kind, narrowest first. */
function groupsOf(kind: string): string[] {
  const parts = kind.split('.').slice(0, -1)
  return parts.map((_, index) => `${parts.slice(0, parts.length - index).join('.')}.*`)
}

function checkHandler(name: string, handler: unknown): void {
  if (typeof handler !== 'function') {
    throw new TypeError(`${name} must be a function (event, ctx) => …, not ${describeType(handler)}.`)
  }
  // Calling a generator function only makes an iterator: the event would be handled although nothing ran.
  if (/GeneratorFunction$/.test(handler.constructor?.name ?? '')) {
    throw new TypeError(`${name} must not be a generator function: nothing would run it.`)
  }
}

function unknownKey(key: string, known: readonly string[]): TypeError {
  if (key === '*') {
    return new TypeError(`There is no on["*"]: use onUnhandled for the kinds that have no handler.`)
  }
  return new TypeError(
    `on["${key}"] is not a kind that the service sends, nor a group of them. There are ${known.join(', ')}. For a kind that the service added, give it a schema: schemas: { '${key}': unchecked<Data>() }; for all others there is onUnhandled.`,
  )
}

/** Sets the request of a context. A replay may have none: then it is a getter, so that only reading it throws. */
export function giveRequest(
  context: object & { request?: unknown },
  state: { readonly hasRequest: boolean; readonly request: unknown },
): void {
  if (state.hasRequest) context.request = state.request
  else Object.defineProperty(context, 'request', { get: () => state.request, configurable: true })
}
