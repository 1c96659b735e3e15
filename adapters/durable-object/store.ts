import { type RemoteStore, StoreError } from '../../src/index.js'
import {
  checkClaim,
  checkComplete,
  checkedFor,
  checkOptionNames,
  checkRelease,
  checkRenew,
  checkWholeNumber,
  messageOf,
} from '../../src/store-kit.js'
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
    try {
      // For each call: a stub belongs to the request that made it, and one whose object has failed stays broken.
      const stub = namespace.get(namespace.idFromName(`shard-${shardOf(key, shards)}`) as never)
      answer = await stub.fetch('https://tix-webhooks/', { method: 'POST', body: JSON.stringify(body) })
      if (answer.ok) return ((await answer.json()) as { result: unknown }).result
    } catch (cause) {
      throw unavailable(cause)
    }
    throw new StoreError(
      'store_unavailable',
      `The Durable Object answered with status ${answer.status}: is the class of the binding TixWebhooksObject?`,
      { answered: true },
    )
  }

  return {
    async claim(request) {
      checkClaim(request)
      return (await call('claim', request)) as never
    },

    async renew(lease, leaseMs) {
      checkRenew(lease, leaseMs)
      return (await call('renew', { ...lease, leaseMs })) as boolean
    },

    async complete(lease, retainMs) {
      checkComplete(lease, retainMs)
      return (await call('complete', { ...lease, retainMs })) as boolean
    },

    async release(lease) {
      checkRelease(lease)
      return (await call('release', lease)) as boolean
    },
  }
}

/** FNV-1a: spreads keys that differ in their last characters only. */
function shardOf(key: string, shards: number): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < key.length; i++) hash = Math.imul(hash ^ key.charCodeAt(i), 0x01000193)
  return (hash >>> 0) % shards
}

function unavailable(cause: unknown): StoreError {
  const isWithoutSql = /SQL is not enabled/.test(messageOf(cause))
  return new StoreError(
    'store_unavailable',
    isWithoutSql
      ? 'The Durable Object has no SQLite storage: list TixWebhooksObject in new_sqlite_classes of the wrangler configuration.'
      : 'The Durable Object could not be reached, is overloaded, or failed. Nothing is lost: the sender retries.',
    { cause, answered: isWithoutSql },
  )
}
