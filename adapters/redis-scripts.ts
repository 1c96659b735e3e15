import { encodeHex } from '../src/encoding.js'

/** A server-side script. Each touches one key, so that it runs on a cluster too. */
export interface Script {
  readonly lua: string
  readonly sha: () => Promise<string>
}

/**
 * A record is a hash, and its fields tell its state: `token` alone is completed; with `attempt` it is released; with
 * `until` too it is running. So completing and releasing only take fields away, which Redis allows when it is out of
 * memory. The time is the server's; milliseconds, because Lua prints those exactly. A record past its retention has expired.
 */
const READ = `local token, attempt, leaseUntil = unpack(redis.call('HMGET', KEYS[1], 'token', 'attempt', 'until'))`
const NOW = `local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)`

export const CLAIM: Script = script(`${NOW}
${READ}
if token and not attempt then return {'completed', 0} end
if token == ARGV[1] then
  if not leaseUntil then return {'in-flight', 1} end
else
  if leaseUntil and tonumber(leaseUntil) > now then return {'in-flight', tonumber(leaseUntil) - now} end
  attempt = (attempt or 0) + 1
end
redis.call('HSET', KEYS[1], 'token', ARGV[1], 'attempt', attempt, 'until', now + ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return {'claimed', tonumber(attempt)}`)

/** It takes the old lease away first: a script that has written may go on writing when Redis is out of memory. */
export const RENEW: Script = script(`${NOW}
${READ}
if token ~= ARGV[1] or not leaseUntil then return 0 end
redis.call('HDEL', KEYS[1], 'until')
redis.call('HSET', KEYS[1], 'until', now + ARGV[2])
return 1`)

export const COMPLETE: Script = script(`${READ}
if token ~= ARGV[1] or (attempt and not leaseUntil) then return 0 end
redis.call('HDEL', KEYS[1], 'attempt', 'until')
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1`)

export const RELEASE: Script = script(`${READ}
if token ~= ARGV[1] or not attempt then return 0 end
redis.call('HDEL', KEYS[1], 'until')
return 1`)

function script(lua: string): Script {
  let digest: Promise<string> | undefined
  return {
    lua,
    sha() {
      digest ??= sha1(lua)
      return digest
    },
  }
}

/** What Redis knows scripts by. */
async function sha1(text: string): Promise<string> {
  return encodeHex(new Uint8Array(await crypto.subtle.digest('SHA-1', new TextEncoder().encode(text))))
}
