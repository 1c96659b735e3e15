import { describeType, describeValue } from '../src/describe-type.js'
import { type ClaimResult, type IdempotencyStore, StoreError } from '../src/index.js'
import { checkOptionNames } from '../src/option-names.js'
import { checkClaim, checkLease, checkMs } from '../src/store-rules.js'
import {
  commandsOf,
  type IoredisClient,
  messageOf,
  type NodeRedisClient,
  unavailable,
  type WaitingClient,
  waitingClient,
  warnOfEviction,
} from './redis-client.js'
import { CLAIM, COMPLETE, RELEASE, RENEW, type Script } from './redis-scripts.js'

export type { IoredisClient, NodeRedisClient }

export interface RedisStoreOptions {
  /** What the keys of the records begin with. Default `tix-webhooks:`. */
  prefix?: string
  /**
   * How many replicas must have a claim or a completion before it counts; fewer are an outage, and what was claimed is
   * released. For one client of one primary. Default 0. It narrows what a failover can forget, and does not close it.
   */
  replicas?: number
  /** How long the replicas are waited for, in milliseconds. Default 100, and best well under the 2 s that a store call may take. The connection sends nothing else meanwhile: give the store a client of its own. */
  replicaTimeoutMs?: number
}

/**
 * Remembers handled events in Redis 5 or newer, or Valkey, for all processes that share it. Records expire by themselves.
 * A failover, or a server that evicts keys, can forget some, which can cause a second run: see docs/idempotency.md.
 *
 * @param client an ioredis or node-redis client of yours, connected
 * @throws TypeError when the client is of another library, or an option makes no sense
 * @example
 * ```ts
 * tixWebhooks({ secret, on, store: redisStore(new Redis('redis://localhost:6379')), namespace: 'orders' })
 * ```
 */
export function redisStore(
  client: IoredisClient | NodeRedisClient,
  options: RedisStoreOptions = {},
): IdempotencyStore {
  options = checkOptionNames(options, ['prefix', 'replicas', 'replicaTimeoutMs'])
  const { prefix = 'tix-webhooks:', replicas = 0, replicaTimeoutMs = 100 } = options
  checkPrefix(prefix)
  checkWhole('replicas', replicas, 0)
  checkWhole('replicaTimeoutMs', replicaTimeoutMs, 1)
  const commands = commandsOf(client)
  const waiting = replicas > 0 ? waitingClient(client) : undefined
  let hasReadPolicy = false

  /** Sends a script by its digest. A server that does not have it, because it is new or was restarted, gets it whole. */
  async function run(
    script: Script,
    key: string,
    args: string[],
    confirm?: (sent: Promise<unknown>) => Promise<unknown>,
  ): Promise<unknown> {
    if (!hasReadPolicy) readPolicy()
    const sha = await script.sha()
    try {
      const sent = commands.evalSha(sha, prefix + key, args)
      return await (confirm === undefined ? sent : confirm(sent))
    } catch (error) {
      if (!messageOf(error).startsWith('NOSCRIPT')) throw unavailable(error)
    }
    try {
      const sent = commands.eval(script.lua, prefix + key, args)
      return await (confirm === undefined ? sent : confirm(sent))
    } catch (error) {
      throw unavailable(error)
    }
  }

  function readPolicy(): void {
    hasReadPolicy = true
    void warnOfEviction(client).then((hasAnswered) => {
      hasReadPolicy = hasAnswered
    })
  }

  /** Whether the replicas have it too is asked in the same breath: on one connection WAIT covers what was sent before it. */
  async function runReplicated(
    waiting: WaitingClient,
    ...call: [script: Script, key: string, args: string[]]
  ): Promise<{ reply: unknown; isReplicated: boolean }> {
    let acknowledged = 0
    const reply = await run(...call, async (sent) => {
      const [reply, count] = await Promise.all([sent, waiting.wait(replicas, replicaTimeoutMs)])
      acknowledged = Number(count)
      return reply
    })
    return { reply, isReplicated: acknowledged >= replicas }
  }

  const store: IdempotencyStore = {
    async claim(request) {
      checkClaim(request)
      const { key, token } = request
      const retainMs = Math.ceil(request.retainMs)
      const args = [token, `${retainMs}`, `${retainMs - Math.ceil(request.leaseMs)}`]
      if (waiting === undefined) return asClaimResult(await run(CLAIM, key, args))
      const { reply, isReplicated } = await runReplicated(waiting, CLAIM, key, args)
      const result = asClaimResult(reply)
      if (result.status === 'claimed' && !isReplicated) {
        await store.release({ key, token }).catch(() => false)
        throw tooFewReplicas(replicas, replicaTimeoutMs)
      }
      return result
    },

    async renew(lease, leaseMs) {
      checkLease(lease)
      checkMs('leaseMs', leaseMs)
      return isOne(await run(RENEW, lease.key, [lease.token, `${Math.ceil(leaseMs)}`]))
    },

    async complete(lease, retainMs) {
      checkLease(lease)
      checkMs('retainMs', retainMs)
      const args = [lease.token, `${Math.ceil(retainMs)}`]
      if (waiting === undefined) return isOne(await run(COMPLETE, lease.key, args))
      const { reply, isReplicated } = await runReplicated(waiting, COMPLETE, lease.key, args)
      if (isOne(reply) && !isReplicated) throw tooFewReplicas(replicas, replicaTimeoutMs)
      return isOne(reply)
    },

    async release(lease) {
      checkLease(lease)
      return isOne(await run(RELEASE, lease.key, [lease.token]))
    },
  }
  return store
}

/** Numbers come as the client's options say: as such, or as strings, buffers or bigints. */
function asClaimResult(reply: unknown): ClaimResult {
  if (!/^-?\d+$/.test(String(reply))) {
    throw new StoreError(
      'store_misbehaved',
      `Redis answered a claim with ${describeType(reply)}: does the client transform replies?`,
    )
  }
  const number = Number(reply)
  if (number > 0) return { status: 'claimed', attempt: number }
  return number === 0 ? { status: 'completed' } : { status: 'in-flight', retryAfterMs: -number }
}

function isOne(reply: unknown): boolean {
  return Number(reply) === 1
}

function checkPrefix(prefix: string): void {
  if (typeof prefix !== 'string' || !/^[!-~]{0,200}$/.test(prefix)) {
    throw new TypeError('prefix must be at most 200 characters of printable ASCII without blanks.')
  }
}

function checkWhole(name: string, value: number, min: number): void {
  if (!Number.isSafeInteger(value) || value < min) {
    throw new TypeError(`${name} must be a whole number of at least ${min}, not ${describeValue(value)}.`)
  }
}

function tooFewReplicas(replicas: number, timeoutMs: number): StoreError {
  return new StoreError(
    'store_unavailable',
    `Fewer than ${replicas} replicas had the write after ${timeoutMs} ms (replicas, replicaTimeoutMs): are they connected to the primary?`,
  )
}
