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
  checkOptionNames(options, ['prefix', 'replicas', 'replicaTimeoutMs'])
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
    args: readonly (string | number)[],
    confirm: (sent: Promise<unknown>) => Promise<unknown> = (sent) => sent,
  ): Promise<unknown> {
    const parameters = [prefix + key, args.map(String)] as const
    if (!hasReadPolicy) {
      hasReadPolicy = true
      void warnOfEviction(client).then((hasAnswered) => {
        hasReadPolicy = hasAnswered
      })
    }
    try {
      const sha = await script.sha()
      return await confirm(commands.evalSha(sha, ...parameters))
    } catch (error) {
      if (!messageOf(error).startsWith('NOSCRIPT')) throw unavailable(error)
    }
    try {
      return await confirm(commands.eval(script.lua, ...parameters))
    } catch (error) {
      throw unavailable(error)
    }
  }

  /** Whether the replicas have it too is asked in the same breath: on one connection WAIT covers what was sent before it. */
  async function runReplicated(
    script: Script,
    key: string,
    args: readonly (string | number)[],
  ): Promise<{ reply: unknown; isReplicated: boolean }> {
    if (waiting === undefined) return { reply: await run(script, key, args), isReplicated: true }
    let acknowledged = 0
    const reply = await run(script, key, args, async (sent) => {
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
      const times = [Math.ceil(request.leaseMs), Math.ceil(request.retainMs)]
      const { reply, isReplicated } = await runReplicated(CLAIM, key, [token, ...times])
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
      return isOne(await run(RENEW, lease.key, [lease.token, Math.ceil(leaseMs)]))
    },

    async complete(lease, retainMs) {
      checkLease(lease)
      checkMs('retainMs', retainMs)
      const { reply, isReplicated } = await runReplicated(COMPLETE, lease.key, [
        lease.token,
        Math.ceil(retainMs),
      ])
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

/** Results come as the client's options say: numbers as strings or bigints, strings as buffers. */
function asClaimResult(reply: unknown): ClaimResult {
  const [status, number] = Array.isArray(reply) ? reply : []
  switch (String(status)) {
    case 'claimed':
      return { status: 'claimed', attempt: Number(number) }
    case 'completed':
      return { status: 'completed' }
    case 'in-flight':
      return { status: 'in-flight', retryAfterMs: Number(number) }
    default:
      throw new StoreError(
        'store_misbehaved',
        `Redis answered a claim with ${describeType(reply)}: does the client transform replies?`,
      )
  }
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
