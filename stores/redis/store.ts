import { type ClaimResult, type Lease, type RemoteStore, StoreError } from '../../src/index.js'
import {
  checkedFor,
  checkOptionNames,
  checkWholeNumber,
  DEFAULT_REPLICA_TIMEOUT_MS,
  describeType,
} from '../../src/internal.js'
import { checkedStore } from '../lib/store-rules.js'
import { lacksScript, unavailable } from './advice.js'
import type { RedisStoreClient } from './client.js'
import { commandsOf } from './commands.js'
import { warnOfEvictionOnce } from './eviction.js'
import { Replicas } from './replicas.js'
import { CHECK, CLAIM, COMPLETE, IS_HANDLED, RELEASE, RENEW, type Script } from './scripts.js'

export interface RedisStoreOptions {
  /** Prefix of the keys of the records. Default `tix-webhooks:`. */
  prefix?: string | undefined
  /**
   * How many replicas must have a claim or a completion before it counts; fewer are an outage, and the claim is released. For one
   * client of one primary. Default 0. A failover then forgets fewer records, and can still forget some.
   */
  replicas?: number | undefined
  /** The longest wait for the replicas, in milliseconds. Default 100; keep it well under the 2 s that a store call may take. The connection sends nothing else meanwhile: give the store a client of its own. */
  replicaTimeoutMs?: number | undefined
}

/**
 * Remembers handled events in Redis 5 or newer, or Valkey, for all processes that share it. Records expire by themselves.
 * A failover, a restart, or a server that evicts keys can forget some, which can cause a second run: see docs/stores.md.
 *
 * @param client an ioredis or node-redis client of yours, connected, or one of @upstash/redis
 * @throws TypeError when the client is of another library, a pipeline, a legacy client or one that subscribes, or an option is invalid
 * @example
 * ```ts
 * tixWebhooks({ secret, on, store: redisStore(new Redis('redis://localhost:6379')), namespace: 'orders' })
 * ```
 */
export function redisStore(client: RedisStoreClient, options: RedisStoreOptions = {}): RemoteStore {
  return checkedFor(redisStore, () => createStore(client, options))
}

function createStore(client: RedisStoreClient, options: RedisStoreOptions): RemoteStore {
  options = checkOptionNames(options, ['prefix', 'replicas', 'replicaTimeoutMs'])
  const { prefix = 'tix-webhooks:', replicas = 0, replicaTimeoutMs = DEFAULT_REPLICA_TIMEOUT_MS } = options
  checkPrefix(prefix)
  checkWholeNumber('replicas', replicas, 0)
  checkWholeNumber('replicaTimeoutMs', replicaTimeoutMs)
  const commands = commandsOf(client)
  const required = replicas > 0 ? new Replicas(client, replicas, replicaTimeoutMs) : undefined

  function run(script: Script, key: string, args: string[]): Promise<unknown> {
    return send(script, key, args, (sent) => sent)
  }

  /** Sends a script by its digest. A server that does not have it, because it is new or was restarted, gets it whole. */
  async function send<T>(
    script: Script,
    key: string,
    args: string[],
    confirm: (sent: Promise<unknown>) => Promise<T>,
  ): Promise<T> {
    warnOfEvictionOnce(client)
    const sha = await script.sha()
    if (sha !== undefined) {
      try {
        return await confirm(commands.evalSha(sha, prefix + key, args))
      } catch (error) {
        if (!lacksScript(error)) throw unavailable(error, client)
      }
    }
    try {
      return await confirm(commands.eval(script.lua, prefix + key, args))
    } catch (error) {
      throw unavailable(error, client)
    }
  }

  async function claimReplicated(required: Replicas, lease: Lease, args: string[]): Promise<ClaimResult> {
    const { reply, isReplicated } = await send(CLAIM, lease.key, args, (sent) => required.confirm(sent))
    const result = asClaimResult(reply)
    if (result.status !== 'claimed' || isReplicated) return result
    await store.release(lease).catch(() => false)
    throw required.tooFew()
  }

  async function completeReplicated(required: Replicas, key: string, args: string[]): Promise<boolean> {
    const { reply, isReplicated } = await send(COMPLETE, key, args, (sent) => required.confirm(sent))
    if (isOne('completion', reply) && !isReplicated) throw required.tooFew()
    return isOne('completion', reply)
  }

  async function checkReplicated(required: Replicas): Promise<void> {
    const { isReplicated } = await send(CHECK, NO_KEY, [], (sent) => required.confirm(sent))
    if (!isReplicated) throw required.tooFew()
  }

  const store = checkedStore<RemoteStore>({
    async claim(request) {
      const { key, token } = request
      const retainMs = Math.ceil(request.retainMs)
      const args = [token, `${retainMs}`, `${retainMs - Math.ceil(request.leaseMs)}`]
      if (required === undefined) return asClaimResult(await run(CLAIM, key, args))
      return required.explained(claimReplicated(required, request, args))
    },

    async renew(lease, leaseMs) {
      return isOne('renewal', await run(RENEW, lease.key, [lease.token, `${Math.ceil(leaseMs)}`]))
    },

    async complete(lease, retainMs) {
      const args = [lease.token, `${Math.ceil(retainMs)}`]
      if (required === undefined) return isOne('completion', await run(COMPLETE, lease.key, args))
      return required.explained(completeReplicated(required, lease.key, args))
    },

    async release(lease) {
      return isOne('release', await run(RELEASE, lease.key, [lease.token]))
    },

    async isHandled(key) {
      return isOne('look-up', await run(IS_HANDLED, key, []))
    },

    async check() {
      if (required !== undefined) return required.explained(checkReplicated(required))
      isOne('check', await run(CHECK, NO_KEY, []))
    },
  })
  return store
}

/** No record has it: keys are printable. */
const NO_KEY = '\n'

function asClaimResult(reply: unknown): ClaimResult {
  const number = numberOf('claim', reply)
  if (number > 0) return { status: 'claimed', attempt: number }
  return number === 0 ? { status: 'completed' } : { status: 'in_flight', retryAfterMs: -number }
}

function isOne(call: string, reply: unknown): boolean {
  return numberOf(call, reply) === 1
}

/** Numbers come as the client's options say: as such, or as strings, buffers or bigints. */
function numberOf(call: string, reply: unknown): number {
  if (/^-?\d+$/.test(String(reply))) return Number(reply)
  throw new StoreError(
    'store_misbehaved',
    `Redis answered a ${call} with ${describeType(reply)}: does the client transform replies, or is it in a transaction?`,
  )
}

function checkPrefix(prefix: string): void {
  if (typeof prefix !== 'string' || !/^[!-~]{0,200}$/.test(prefix)) {
    throw new TypeError('prefix must be at most 200 characters of printable ASCII without blanks.')
  }
}
