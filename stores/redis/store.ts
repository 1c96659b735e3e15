import { type ClaimResult, type RemoteStore, StoreError } from '../../src/index.js'
import { checkedFor, checkOptionNames, describeType } from '../../src/internal.js'
import { checkedStore } from '../lib/store-rules.js'
import { lacksScript, unavailable } from './advice.js'
import type { RedisStoreClient } from './client.js'
import { commandsOf } from './commands.js'
import { warnOfEvictionOnce } from './eviction.js'
import { CHECK, CLAIM, COMPLETE, IS_HANDLED, RELEASE, RENEW, type Script } from './scripts.js'

export interface RedisStoreOptions {
  /** Prefix of the keys of the records. Default `tix-webhooks:`. */
  prefix?: string | undefined
}

/**
 * Remembers handled events in Redis 5 or newer, or Valkey, for all processes that share it. Records expire by themselves.
 * A failover, a restart, or a server that evicts keys can forget some, which can cause a second run: see docs/stores.md.
 *
 * @param client an ioredis or node-redis client of yours, connected, or one of @upstash/redis
 * @throws TypeError when the client is of another library or one that subscribes, or an option is invalid
 * @example
 * ```ts
 * tixWebhooks({ secret, on, store: redisStore(new Redis('redis://localhost:6379')), namespace: 'orders' })
 * ```
 */
export function redisStore(client: RedisStoreClient, options: RedisStoreOptions = {}): RemoteStore {
  return checkedFor(redisStore, () => createStore(client, options))
}

function createStore(client: RedisStoreClient, options: RedisStoreOptions): RemoteStore {
  options = checkOptionNames(options, ['prefix'])
  const { prefix = 'tix-webhooks:' } = options
  checkPrefix(prefix)
  const commands = commandsOf(client)

  /** Sends a script by its digest. A server that does not have it, because it is new or was restarted, gets it whole. */
  async function run(script: Script, key: string, args: string[]): Promise<unknown> {
    warnOfEvictionOnce(client)
    const sha = await script.sha()
    try {
      return await commands.evalSha(sha, prefix + key, args).catch((error) => {
        if (!lacksScript(error)) throw error
        return commands.eval(script.lua, prefix + key, args)
      })
    } catch (error) {
      throw unavailable(error, client)
    }
  }

  return checkedStore<RemoteStore>({
    async claim(request) {
      const { key, token } = request
      const retainMs = Math.ceil(request.retainMs)
      const args = [token, `${retainMs}`, `${retainMs - Math.ceil(request.leaseMs)}`]
      return asClaimResult(await run(CLAIM, key, args))
    },

    async renew(lease, leaseMs) {
      return isOne('renewal', await run(RENEW, lease.key, [lease.token, `${Math.ceil(leaseMs)}`]))
    },

    async complete(lease, retainMs) {
      return isOne('completion', await run(COMPLETE, lease.key, [lease.token, `${Math.ceil(retainMs)}`]))
    },

    async release(lease) {
      return isOne('release', await run(RELEASE, lease.key, [lease.token]))
    },

    async isHandled(key) {
      return isOne('look-up', await run(IS_HANDLED, key, []))
    },

    async check() {
      isOne('check', await run(CHECK, NO_KEY, []))
    },
  })
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
