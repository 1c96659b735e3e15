import { type RemoteStore, StoreError } from '../../src/index.js'
import { checkedFor, checkOptionNames, checkWholeNumber, messageOf } from '../../src/internal.js'
import { checkedStore } from '../lib/store-rules.js'
import { checkNamespace, type DurableObjectAnswer, type DurableObjectNamespace } from './cloudflare.js'
import type { ObjectCall } from './protocol.js'

export interface DurableObjectStoreOptions {
  /**
   * How many objects share the records: each event belongs to one of them, by its key. Default 16. Another number forgets most of what
   * is remembered.
   */
  shards?: number | undefined
}

/**
 * Remembers handled events in Durable Objects, for all isolates of a Worker: one round trip for each call. Records are forgotten by the
 * objects themselves.
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
): RemoteStore {
  return checkedFor(durableObjectStore, () => createStore(namespace, options))
}

function createStore(namespace: DurableObjectNamespace, options: DurableObjectStoreOptions): RemoteStore {
  options = checkOptionNames(options, ['shards'])
  checkNamespace(namespace)
  const shards = checkWholeNumber('shards', options.shards ?? 16)

  async function call(
    method: ObjectCall['method'],
    given: Partial<ObjectCall> & { key: string },
  ): Promise<unknown> {
    const { key, token = '', leaseMs = 0, retainMs = 0 } = given
    const body: ObjectCall = {
      method,
      key,
      token,
      leaseMs: Math.ceil(leaseMs),
      retainMs: Math.ceil(retainMs),
    }
    let answer: DurableObjectAnswer
    let text: string
    try {
      // For each call: a stub belongs to the request that made it, and one whose object has failed stays broken.
      const stub = namespace.get(namespace.idFromName(`shard-${shardOf(key, shards)}`) as never)
      answer = await stub.fetch('https://tix-webhooks/', { method: 'POST', body: JSON.stringify(body) })
      text = await answer.text()
    } catch (cause) {
      throw unavailable(cause)
    }
    if (!answer.ok) throw ofAnotherClass(`with status ${answer.status}`)
    try {
      return (JSON.parse(text) as { result: unknown }).result
    } catch {
      throw ofAnotherClass('without JSON')
    }
  }

  return checkedStore<RemoteStore>({
    async claim(request) {
      return (await call('claim', request)) as never
    },

    async renew(lease, leaseMs) {
      return (await call('renew', { ...lease, leaseMs })) as boolean
    },

    async complete(lease, retainMs) {
      return (await call('complete', { ...lease, retainMs })) as boolean
    },

    async release(lease) {
      return (await call('release', lease)) as boolean
    },

    async isHandled(key) {
      const result = await call('isHandled', { key })
      // An object that still runs an older version of the class does not know the method.
      if (typeof result !== 'boolean') throw ofAnotherClass('without a result')
      return result
    },

    async check() {
      await call('check', { key: '' })
    },
  })
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
