import { STORE_CALL_MS } from '../../durations.js'
import { ConfigurationError, UnavailableError } from '../../errors.js'
import { type Guard, type GuardedDelivery, UNPROTECTED } from '../../ledger/guard.js'
import type { Inbox } from '../../ledger/inbox.js'
import { inboxGuard } from '../../ledger/inbox-guard.js'
import { leaseGuard, leaseMemory } from '../../ledger/lease-guard.js'
import { defaultStore } from '../../ledger/memory/memory-store.js'
import { type IdempotencyStore, isLedger } from '../../ledger/store.js'
import { isMisuse } from '../../lib/call-site.js'
import { describeType } from '../../lib/describe-type.js'
import type { MaybePromise } from '../../lib/promises.js'
import { isName, NAME_RULE } from '../../signature/account.js'
import { hmacEngine } from '../../signature/hmac.js'
import type { WebhookOptions } from './options.js'

/**
 * Required with a store or an inbox, which other endpoints may share. The built-in memory store is not shared, so it defaults to `'default'`.
 */
export function namespaceOf<Request>({ namespace, store, inbox }: DeduplicationOptions<Request>): string {
  if (namespace === undefined) {
    if (store === undefined && inbox === undefined) return 'default'
    throw new TypeError(
      "namespace is required with store and inbox: name this endpoint, such as namespace: 'orders', so that two endpoints on one database do not suppress each other's events.",
    )
  }
  if (isName(namespace)) return namespace
  throw new TypeError(
    `namespace must be ${NAME_RULE}. For several accounts on one route, use the option account, whose id is part of every key.`,
  )
}

/** Those of the options `store` and `inbox` that are functions of the request. */
export function factoriesOf<Request>({ store, inbox }: DeduplicationOptions<Request>): readonly string[] {
  return Object.entries({ store, inbox }).flatMap(([name, value]) => (isFactory(value) ? [name] : []))
}

/** The options of deduplication. */
interface DeduplicationOptions<Request> {
  readonly store?: IdempotencyStore | ((request: Request) => unknown) | undefined
  readonly inbox?: object | undefined
  readonly namespace?: string | undefined
}

/** The store or the inbox that the options select, and its guard. */
export interface Deduplication<Request> {
  readonly guard: Guard<Request>
  /** The one for all requests; `undefined` if the user's function makes one for each. */
  readonly backend: object | undefined
  /** The one for a request, which the user's function may make. Rejects as a run does. */
  backendFor(request: Request): MaybePromise<object>
}

interface Terms {
  readonly leaseMs: number
  readonly maxRunMs: number
  /** How long events are kept in a ledger, and in a store or an inbox alone. */
  readonly retainMs: { readonly ledger: number; readonly alone: number }
}

/** Leases on a store, or transactions of an inbox. */
export function deduplicationOf<Request>(
  { store, inbox, ...options }: DeduplicationOptions<Request> & Pick<WebhookOptions, 'now'>,
  now: () => number,
  { leaseMs, maxRunMs, retainMs }: Terms,
): Deduplication<Request> {
  const memory = leaseMemory(() => hmacEngine().randomUuid())
  const retained = (backend: object): number => (isLedger(backend) ? retainMs.ledger : retainMs.alone)
  const ofStore: Kind = {
    option: 'store',
    checked: checkedStore,
    guardOn: (one) => leaseGuard(one as IdempotencyStore, { leaseMs, retainMs: retained(one), ...memory }),
  }
  const ofInbox: Kind = {
    option: 'inbox',
    checked: checkedInbox,
    guardOn: (one) => inboxGuard(one as Inbox<unknown>, { retainMs: retained(one), maxRunMs }),
  }
  if (inbox === undefined) {
    return selected(ofStore, store ?? memoryOf(options.now === undefined ? undefined : now))
  }
  const found = selected<Request>(ofInbox, inbox)
  if (store === undefined) return found
  throw new TypeError(
    'Pass a store or an inbox, not both: an inbox keeps its own record of what was handled, in the transaction of the handler.',
  )
}

/** One of the two options. */
interface Kind {
  readonly option: 'store' | 'inbox'
  /** @throws TypeError when it is none */
  checked(value: unknown): object
  guardOn(backend: object): Guard
}

function selected<Request>(kind: Kind, value: unknown): Deduplication<Request> {
  if (isFactory(value)) return madeByRequest(kind, value)
  const backend = kind.checked(value)
  return { guard: kind.guardOn(backend), backend, backendFor: () => backend }
}

/** A client of postgres.js is a function too: it has an `unsafe` method. */
function isFactory(value: unknown): value is (request: never) => unknown {
  return typeof value === 'function' && !('unsafe' in value)
}

/** A store or an inbox that the user's function makes for each request that needs one. */
function madeByRequest<Request>(
  { option, checked, guardOn }: Kind,
  make: (request: Request) => unknown,
): Deduplication<Request> {
  async function backendFor(request: Request): Promise<object> {
    let made: unknown
    try {
      made = await make(request)
    } catch (cause) {
      // Such as that of redisStore(undefined): a retry would not help.
      if (isMisuse(cause)) throw misconfigured('threw', cause)
      const message = `Your ${option} function failed. Nothing is lost.`
      throw new UnavailableError('store_unavailable', message, { cause })
    }
    try {
      return checked(made)
    } catch (cause) {
      throw misconfigured(`returned ${describeType(made)}`, cause)
    }
  }

  function misconfigured(what: string, cause: unknown): ConfigurationError {
    return new ConfigurationError(
      `Your ${option} function ${what}: it must return the ${option} for the request.`,
      { cause },
    )
  }

  const tookTooLong = `Your ${option} function took too long: over ${STORE_CALL_MS / 1000} s, or the delivery had no more time.`

  function guardOfDelivery({ clock, request }: GuardedDelivery<Request>): Promise<Guard> {
    const byMs = Math.min(clock.nowMs + STORE_CALL_MS, clock.deadlineMs)
    return clock.within(backendFor(request).then(guardOn), byMs, () => {
      throw new UnavailableError('store_unavailable', tookTooLong)
    })
  }

  const guard: Guard<Request> = {
    async run(key, delivery, work) {
      if (key === null && option === 'store') return work(UNPROTECTED)
      return (await guardOfDelivery(delivery)).run(key, delivery, work)
    },
    async keep(delivery, end) {
      try {
        return await (await guardOfDelivery(delivery)).keep(delivery, end)
      } catch (error) {
        delivery.report(error)
        return false
      }
    },
  }
  return { guard, backend: undefined, backendFor }
}

let warnedOfMemory = false

function memoryOf(now: (() => number) | undefined): IdempotencyStore {
  if (isProduction() && !warnedOfMemory) {
    warnedOfMemory = true
    console.warn(
      'tix-webhooks: no store is given, so handled events are remembered only in the memory of this process, until it restarts. Pass a store or an inbox, and a namespace; store: memoryStore() if that is intended.',
    )
  }
  return defaultStore(now)
}

function checkedStore(store: unknown): IdempotencyStore {
  if (isInbox(store)) {
    throw new TypeError('store is an inbox: pass it as inbox, and handlers get its transaction as ctx.tx.')
  }
  for (const method of ['claim', 'renew', 'complete', 'release'] as const) {
    if (typeof (store as IdempotencyStore | null | undefined)?.[method] !== 'function') {
      throw new TypeError(
        `store must be an IdempotencyStore: its ${method} is not a function. A client such as ioredis or pg is not a store by itself.`,
      )
    }
  }
  return wholeLedger('store', store as IdempotencyStore, ['fail', 'keep', 'ledger', 'forget'])
}

function checkedInbox(inbox: unknown): Inbox<unknown> {
  if (!isInbox(inbox)) {
    if (typeof (inbox as IdempotencyStore | null | undefined)?.claim === 'function') {
      throw new TypeError('inbox is a store: pass it as store, or an Inbox, such as postgresInbox(pool).')
    }
    throw new TypeError('inbox must be an Inbox, such as postgresInbox(pool), not a pool or a database.')
  }
  return wholeLedger('inbox', inbox, ['keep', 'ledger', 'forget'])
}

/** Refuses a part of a ledger: it would keep nothing, and nobody would notice. */
function wholeLedger<T extends object>(option: string, backend: T, members: readonly string[]): T {
  const missing = members.filter((name) => (backend as Readonly<Record<string, unknown>>)[name] === undefined)
  // Any store may have a `forget`.
  if (missing.length === 0 || missing.length >= members.length - Number('forget' in backend)) return backend
  throw new TypeError(
    `${option} has no ${missing.join(' and no ')}: one that keeps failures has ${members.join(', ')}, and another has none but forget.`,
  )
}

function isInbox(value: unknown): value is Inbox<unknown> {
  const { once, claim, addListener } = (value ?? {}) as Readonly<Record<string, unknown>>
  // A pool may be an event emitter, which has a once of its own.
  return typeof once === 'function' && claim === undefined && addListener === undefined
}

function isProduction(): boolean {
  const { process } = globalThis as { process?: { env?: Record<string, string | undefined> } }
  return process?.env?.NODE_ENV === 'production'
}
