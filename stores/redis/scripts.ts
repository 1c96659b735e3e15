/** A server-side script. Each touches one key, so that it runs on a cluster too. */
export interface Script {
  readonly lua: string
  /** Redis knows scripts by it. */
  readonly sha: () => Promise<string>
}

/**
 * A record is one string: `running <attempt> <lease end> <token>`, or `completed` or `released` in place of `running`. It
 * expires with its retention. The end of a lease is the rest of the retention at that time, so PTTL is the only clock.
 */
const READ = `local stored = redis.call('GET', KEYS[1])
local state, attempt, leaseEnd, token
if stored then
  state, attempt, leaseEnd, token = string.match(stored, '^(%l+) (%d+) (%-?%d+) (.+)$')
  if not state then return redis.error_reply('WRONGTYPE not a record of tix-webhooks') end
end`

/** Redis out of memory refuses SET, unless the script has written before, but never DEL: so DEL goes first there. */
function replace(state: string, leaseEnd: string, px: string): string {
  return `local record = '${state} ' .. attempt .. ' ' .. ${leaseEnd} .. ' ' .. token
if redis.pcall('SET', KEYS[1], record, 'PX', ${px}).err then
  redis.call('DEL', KEYS[1])
  redis.call('SET', KEYS[1], record, 'PX', ${px})
end
return 1`
}

/** The rest of the retention. In the last millisecond it is 0, which SET refuses. */
const LEFT = `local left = math.max(1, redis.call('PTTL', KEYS[1]))`

/**
 * Takes the token, the retention and the end of the lease. It returns one number, because lists cost more than the rest of the
 * reply: the attempt that was granted, 0 for completed, or the milliseconds to wait, negative. A new event is tried first, because
 * it is the common case; a known event gets its answer also if Redis refused SET.
 */
export const CLAIM: Script =
  script(`local taken = redis.pcall('SET', KEYS[1], 'running 1 ' .. ARGV[3] .. ' ' .. ARGV[1], 'PX', ARGV[2], 'NX')
if taken and taken.ok then return 1 end
${READ}
if not stored then return taken end
if state == 'completed' then return 0 end
if token == ARGV[1] then
  if state == 'released' then return -1 end
else
  if state == 'running' then
    local leaseLeft = redis.call('PTTL', KEYS[1]) - leaseEnd
    if leaseLeft > 0 then return -leaseLeft end
  end
  attempt = attempt + 1
end
redis.call('SET', KEYS[1], 'running ' .. attempt .. ' ' .. ARGV[3] .. ' ' .. ARGV[1], 'PX', ARGV[2])
return tonumber(attempt)`)

/** Takes the token and the lease. */
export const RENEW: Script = script(`${READ}
if token ~= ARGV[1] or state ~= 'running' then return 0 end
${LEFT}
${replace('running', "string.format('%.0f', left - ARGV[2])", 'left')}`)

/** Takes the token and the retention. An absent record is written: its event was handled. */
export const COMPLETE: Script = script(`${READ}
if not stored then
  attempt, token = 1, ARGV[1]
elseif token ~= ARGV[1] then
  return 0
end
${replace('completed', '0', 'ARGV[2]')}`)

/** Takes the token. */
export const RELEASE: Script = script(`${READ}
if token ~= ARGV[1] or state == 'completed' then return 0 end
${LEFT}
${replace('released', '0', 'left')}`)

export const IS_HANDLED: Script = script(`${READ}
if state == 'completed' then return 1 end
return 0`)

/**
 * Calls each command that the scripts call, on a key that no record has: nothing is changed, but Redis refuses what it would refuse a
 * delivery, by the rights of the user, as a replica, or because it is out of memory.
 */
export const CHECK: Script = script(`${READ}
redis.call('PTTL', KEYS[1])
redis.call('SET', KEYS[1], '', 'PX', 1, 'XX')
redis.call('DEL', KEYS[1])
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

async function sha1(text: string): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-1', new TextEncoder().encode(text))
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, '0')).join('')
}
