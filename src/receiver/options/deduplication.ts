import { STORE_CALL_MS } from '../../durations.js'
import { ConfigurationError, UnavailableError } from '../../errors.js'
import type { Guard, GuardedDelivery } from '../../ledger/guard.js'
import type { Inbox } from '../../ledger/inbox.js'
import { inboxGuard } from '../../ledger/inbox-guard.js'
import { leaseGuard, leaseMemory, runUnprotected } from '../../ledger/lease-guard.js'
import { defaultStore } from '../../ledger/memory/memory-store.js'
import type { IdempotencyStore } from '../../ledger/store.js'
import { isMisuse } from '../../lib/call-site.js'
import { describeType } from '../../lib/describe-type.js'
import { isName, NAME_RULE } from '../../signature/account.js'
import { hmacEngine } from '../../signature/hmac.js'
import type { WebhookOptions } from './options.js'

/**
 * Required with a store, an inbox or failures, which other endpoints may share. The built-in memory store is not shared, so it defaults to
 * `'default'`.
 */
export function namespaceOf<Request>({
  namespace,
  store,
  inbox,
  failures,
}: DeduplicationOptions<Request> & { readonly failures?: unknown }): string {
  if (namespace === undefined) {
    if (store === undefined && inbox === undefined && failures === undefined) return 'default'
    throw new TypeError(
      "namespace is required with store, inbox and failures: name this endpoint, such as namespace: 'orders', so that two endpoints on one database do not suppress each other's events.",
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

/** The guard that the options select: leases on a store, or transactions of an inbox. */
export function guardOf<Request>(
  {
    store,
    inbox,
    failures,
    ...options
  }: DeduplicationOptions<Request> & Pick<WebhookOptions, 'now' | 'failures'>,
  now: () => number,
  { leaseMs, retainMs, maxRunMs }: { leaseMs: number; retainMs: number; maxRunMs: number },
): Guard<Request> {
  const leases = { leaseMs, retainMs, ...leaseMemory(() => hmacEngine().randomUuid()) }
  const onStore = (value: unknown): Guard => leaseGuard(checkedStore(value), leases)
  const onInbox = (value: unknown): Guard => inboxGuard(checkedInbox(value), { retainMs, maxRunMs }, failures)
  if (inbox === undefined) {
    if (isFactory(store)) return guardByRequest('store', store, onStore)
    return onStore(store === undefined ? memoryOf(options.now === undefined ? undefined : now) : store)
  }
  const guard = isFactory(inbox) ? guardByRequest('inbox', inbox, onInbox) : onInbox(inbox)
  if (store === undefined) return guard
  throw new TypeError(
    'Pass a store or an inbox, not both: an inbox keeps its own record of what was handled, in the transaction of the handler.',
  )
}

/** A client of postgres.js is a function too: it has an `unsafe` method. */
function isFactory(value: unknown): value is (request: never) => unknown {
  return typeof value === 'function' && !('unsafe' in value)
}

/** Guards with a store or an inbox that the user's function makes for each request that needs one. */
function guardByRequest<Request>(
  option: 'store' | 'inbox',
  make: (request: Request) => unknown,
  guardOn: (made: unknown) => Guard,
): Guard<Request> {
  async function guardFor(request: Request): Promise<Guard> {
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
      return guardOn(made)
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
    return clock.within(guardFor(request), byMs, () => {
      throw new UnavailableError('store_unavailable', tookTooLong)
    })
  }

  return {
    async run(key, delivery, work) {
      if (key === null && option === 'store') return runUnprotected(delivery, work)
      const guard = await guardOfDelivery(delivery)
      return guard.run(key, delivery, work)
    },
    async keep(key, delivery, end) {
      try {
        const guard = await guardOfDelivery(delivery)
        return await guard.keep(key, delivery, end)
      } catch (error) {
        delivery.report(error)
        return (await delivery.failure?.keep(end)) === 'parked'
      }
    },
  }
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
  return store as IdempotencyStore
}

function checkedInbox(inbox: unknown): Inbox<unknown> {
  if (!isInbox(inbox)) {
    if (typeof (inbox as IdempotencyStore | null | undefined)?.claim === 'function') {
      throw new TypeError('inbox is a store: pass it as store, or an Inbox, such as postgresInbox(pool).')
    }
    throw new TypeError('inbox must be an Inbox, such as postgresInbox(pool), not a pool or a database.')
  }
  return inbox
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
