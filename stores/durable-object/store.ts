import {
  type EventGroup,
  type EventRecord,
  type Purgeable,
  type RemoteLedgerStore,
  StoreError,
} from '../../src/index.js'
import {
  type CheckedQuery,
  checkEventFilter,
  checkEventQuery,
  checkedFor,
  checkGroupLimit,
  checkKey,
  checkOptionNames,
  checkReason,
  checkWholeNumber,
  messageOf,
} from '../../src/internal.js'
import { checkedStore } from '../lib/store-rules.js'
import { MOST_COUNTED } from '../sql/reads.js'
import { checkNamespace, type DurableObjectAnswer, type DurableObjectNamespace } from './cloudflare.js'
import { decode, encode, type ObjectCall } from './protocol.js'

export interface DurableObjectStoreOptions {
  /**
   * How many objects share the events: each event belongs to one of them, by its key. Default 16. Another number forgets most of what
   * is remembered.
   */
  shards?: number | undefined
}

/** An idempotency store in Durable Objects, which also keeps the failures of events. Its ledger asks all of them for a list. */
export interface DurableObjectStore extends RemoteLedgerStore, Purgeable {
  check(): Promise<void>
}

/**
 * Remembers events in Durable Objects, for all isolates of a Worker, and keeps those that fail: one round trip for each call. Events are forgotten
 * by the objects themselves.
 *
 * @param namespace the binding to `TixWebhooksObject`; it may be kept for many requests
 * @throws TypeError when it is something else, or an option is invalid
 * @example
 * ```ts
 * tixWebhooks({ secret, on, store: durableObjectStore(env.WEBHOOKS), namespace: 'orders' })
 * ```
 */
export function durableObjectStore(
  namespace: DurableObjectNamespace,
  options: DurableObjectStoreOptions = {},
): DurableObjectStore {
  return checkedFor(durableObjectStore, () => createStore(namespace, options))
}

function createStore(
  namespace: DurableObjectNamespace,
  options: DurableObjectStoreOptions,
): DurableObjectStore {
  options = checkOptionNames(options, ['shards'])
  checkNamespace(namespace)
  const shards = checkWholeNumber('shards', options.shards ?? 16)

  async function ask<T>(shard: number, method: string, ...args: unknown[]): Promise<T> {
    let answer: DurableObjectAnswer
    let text: string
    try {
      // For each call: a stub belongs to the request that made it, and one whose object has failed stays broken.
      const stub = namespace.get(namespace.idFromName(`shard-${shard}`) as never)
      const body = encode({ method, args } satisfies ObjectCall)
      answer = await stub.fetch('https://tix-webhooks/', { method: 'POST', body })
      text = await answer.text()
    } catch (cause) {
      throw unavailable(cause)
    }
    if (!answer.ok) throw ofAnotherClass(`with status ${answer.status}`)
    const { result } = resultIn(text)
    return (result ?? undefined) as T
  }

  /** A method whose first argument is the key, or has it. */
  function ofKey<Args extends readonly unknown[], T>(method: string): (...args: Args) => Promise<T> {
    return async (...args) => {
      const [first] = args as unknown as [string | { readonly key: string }]
      const key = typeof first === 'string' ? first : first?.key
      checkKey(key)
      return ask<T>(shardOf(key, shards), method, ...args)
    }
  }

  function askAll<T>(method: string, ...args: unknown[]): Promise<T[]> {
    return Promise.all(Array.from({ length: shards }, (_, shard) => ask<T>(shard, method, ...args)))
  }

  return checkedStore<DurableObjectStore>({
    claim: ofKey('claim'),
    renew: ofKey('renew'),
    complete: ofKey('complete'),
    release: ofKey('release'),
    fail: ofKey('fail'),
    keep: ofKey('keep'),
    forget: ofKey('forget'),
    isHandled: ofKey('isHandled'),
    ledger: {
      get: ofKey('get'),
      async list(query) {
        const { filter, ...rest } = checkEventQuery(query)
        return mergedLists(await askAll<EventRecord[]>('list', { ...filter, ...rest }), rest)
      },
      async groups({ limit, ...filter } = {}) {
        const most = checkGroupLimit(limit)
        // All that there are of each, so that none is counted in part.
        const asked = { ...checkEventFilter(filter, 'groups'), limit: MOST_GROUPS }
        return mergedGroups(await askAll<EventGroup[]>('groups', asked)).slice(0, most)
      },
      async count(filter) {
        const counts = await askAll<number>('count', checkEventFilter(filter))
        const all = counts.reduce((sum, count) => sum + count, 0)
        return Math.min(all, MOST_COUNTED + 1)
      },
      discard: async (key, { reason }) =>
        ofKey<unknown[], never>('discard')(key, { reason: checkReason(reason) }),
    },
    check: () => ask(shardOf('', shards), 'check'),
    async purge({ limit = PURGE_LIMIT } = {}) {
      let left = checkWholeNumber('limit', limit)
      for (let shard = 0; shard < shards && left > 0; shard++) {
        left -= await ask<number>(shard, 'purge', { limit: left })
      }
      return limit - left
    },
  })
}

const PURGE_LIMIT = 1_000
const MOST_GROUPS = 1_000

/** @throws StoreError when an object of another class, or of a version without the method, wrote it */
function resultIn(text: string): { readonly result: unknown } {
  try {
    const answer = decode(text) as { result: unknown }
    if (answer?.result !== undefined) return answer
  } catch {
    throw ofAnotherClass('without JSON')
  }
  throw ofAnotherClass('without a result')
}

function mergedLists(
  lists: readonly (readonly EventRecord[])[],
  { order, limit }: Pick<CheckedQuery, 'order' | 'limit'>,
): EventRecord[] {
  const oldestFirst = (a: EventRecord, b: EventRecord): number =>
    a.receivedAt.getTime() - b.receivedAt.getTime() || (a.key < b.key ? -1 : 1)
  const all = lists.flat().sort(oldestFirst)
  return (order === 'oldest' ? all : all.reverse()).slice(0, limit)
}

/** The latest first. */
function mergedGroups(lists: readonly (readonly EventGroup[])[]): EventGroup[] {
  const merged = new Map<string, EventGroup>()
  for (const one of lists.flat()) {
    const known = merged.get(one.group)
    merged.set(one.group, known === undefined ? one : together(known, one))
  }
  return [...merged.values()].sort(
    (a, b) => b.lastAt.getTime() - a.lastAt.getTime() || (a.group < b.group ? -1 : 1),
  )
}

function together(one: EventGroup, other: EventGroup): EventGroup {
  return {
    ...(other.lastAt > one.lastAt ? other : one),
    ...{ count: one.count + other.count, failing: one.failing + other.failing },
    ...{ parked: one.parked + other.parked, replays: one.replays + other.replays },
    firstAt: other.firstAt < one.firstAt ? other.firstAt : one.firstAt,
  }
}

/**
 * FNV-1a: spreads keys that differ in their last characters only. Its low bits depend on the low bits of the characters alone, so the high
 * ones are mixed in: keys that contain an id twice would otherwise use half of the objects.
 */
function shardOf(key: string, shards: number): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < key.length; i++) hash = Math.imul(hash ^ key.charCodeAt(i), 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  return ((hash ^ (hash >>> 13)) >>> 0) % shards
}

function ofAnotherClass(how: string): StoreError {
  return new StoreError(
    'store_unavailable',
    `The Durable Object answered ${how}: is the class of the binding TixWebhooksObject?`,
  )
}

/** Advice on an error of an object, by its message. */
const ADVICE: readonly [says: RegExp, code: 'store_unavailable' | 'store_full', message: string][] = [
  [
    /SQL is not enabled/,
    'store_unavailable',
    'The Durable Object has no SQLite storage: list TixWebhooksObject in new_sqlite_classes of the wrangler configuration.',
  ],
  [
    /does not export a fetch\(\) function/,
    'store_unavailable',
    'The Durable Object has no fetch: is the class of the binding TixWebhooksObject?',
  ],
  [
    /SQLITE_FULL|database or disk is full/i,
    'store_full',
    'The storage of the Durable Object is full: it takes new events once old records are past their retention.',
  ],
]

function unavailable(cause: unknown): StoreError {
  const text = messageOf(cause)
  const [
    ,
    code = 'store_unavailable' as const,
    message = 'The Durable Object could not be reached, is overloaded, or failed. Nothing is lost.',
  ] = ADVICE.find(([says]) => says.test(text)) ?? []
  return new StoreError(code, message, { cause })
}
