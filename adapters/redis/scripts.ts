/** A server-side script. Each touches one key, so that it runs on a cluster too. */
export interface Script {
  readonly lua: string
  readonly sha: () => Promise<string>
}

/**
 * A record is one string: `running <attempt> <lease end> <token>`, or `completed` or `released` in place of `running`. It
 * expires with its retention. The end of a lease is said as what will then be left of that, so PTTL is all the clock there is.
 */
const READ = `local held = redis.call('GET', KEYS[1])
local state, attempt, leaseEnd, token
if held then
  state, attempt, leaseEnd, token = string.match(held, '^(%l+) (%d+) (%-?%d+) (.+)$')
  if not state then return redis.error_reply('WRONGTYPE not a record of tix-webhooks') end
end`

/** Out of memory, SET is refused, unless the script has written before; DEL never is. So it is what a full Redis needs first. */
function replace(state: string, leaseEnd: string, px: string): string {
  return `local record = '${state} ' .. attempt .. ' ' .. ${leaseEnd} .. ' ' .. token
if redis.pcall('SET', KEYS[1], record, 'PX', ${px}).err then
  redis.call('DEL', KEYS[1])
  redis.call('SET', KEYS[1], record, 'PX', ${px})
end
return 1`
}

/** What is left of the retention. Nothing is left in the last millisecond, and SET refuses that. */
const LEFT = `local left = math.max(1, redis.call('PTTL', KEYS[1]))`

/**
 * Takes the token, the retention and the lease's end. One number says it all, since lists cost more than the rest of the reply:
 * the attempt that was granted, 0 for completed, or the milliseconds to wait, negative. A new event is the first thing tried,
 * being the common one; what is there already is told so also when SET was refused.
 */
export const CLAIM: Script =
  script(`local taken = redis.pcall('SET', KEYS[1], 'running 1 ' .. ARGV[3] .. ' ' .. ARGV[1], 'PX', ARGV[2], 'NX')
if taken and taken.ok then return 1 end
${READ}
if not held then return taken end
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

/** Takes the token and the retention. A record that is gone is written: its event was handled all the same. */
export const COMPLETE: Script = script(`${READ}
if not held then
  attempt, token = 1, ARGV[1]
elseif token ~= ARGV[1] or state == 'released' then
  return 0
end
${replace('completed', '0', 'ARGV[2]')}`)

/** Takes the token. */
export const RELEASE: Script = script(`${READ}
if token ~= ARGV[1] or state == 'completed' then return 0 end
${LEFT}
${replace('released', '0', 'left')}`)

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
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-1', new TextEncoder().encode(text)))
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, '0')).join('')
}
