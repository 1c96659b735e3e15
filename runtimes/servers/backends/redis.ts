import { redisStore } from 'tix-webhooks/redis'
import type { StoreHarness } from 'tix-webhooks/testing'

/** Moves the deadlines of every record under a prefix, as if that much time had passed on the server. */
const SHIFT = `
  local cursor = '0'
  repeat
    local page = redis.call('SCAN', cursor, 'MATCH', ARGV[1] .. '*', 'COUNT', 1000)
    cursor = page[1]
    for _, key in ipairs(page[2]) do
      local rest = redis.call('PTTL', key) - ARGV[2]
      if rest <= 0 then redis.call('DEL', key) else redis.call('PEXPIRE', key, rest) end
    end
  until cursor == '0'
  return 1`

/** The cases of a store under a prefix of its own, with two stores over one client, made when it is first used. */
export function redisHarness<Client extends Parameters<typeof redisStore>[0]>(
  open: () => Client,
  run: (client: Client, script: string, args: [prefix: string, ms: string]) => Promise<unknown>,
): StoreHarness {
  let opened: { client: Client; prefix: string } | undefined

  function parts() {
    opened ??= { client: open(), prefix: `lane:${crypto.randomUUID()}:` }
    return opened
  }

  async function create() {
    const { client, prefix } = parts()
    return redisStore(client, { prefix })
  }

  return {
    create,
    createSecond: create,
    async advance(ms) {
      const { client, prefix } = parts()
      await run(client, SHIFT, [prefix, `${ms}`])
    },
  }
}
