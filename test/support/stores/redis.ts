import { Redis } from 'ioredis'
import { createClient } from 'redis'
import { redisStore } from 'tix-webhooks/redis'
import { onRedis, redisPrefix, redisUrl } from '../on-servers.js'
import { redisPlace } from '../proof-places.js'
import { REDIS } from '../proof-redis.js'
import { type OurStore, storeKind } from './kinds.js'

const SHIFT = `
  local cursor = '0'
  repeat
    local page = redis.call('SCAN', cursor, 'MATCH', ARGV[1] .. '*', 'COUNT', 1000)
    cursor = page[1]
    for _, key in ipairs(page[2]) do
      local rest = redis.call('PTTL', key) - ARGV[2]
      if rest <= 0 then redis.call('DEL', key) else redis.call('PEXPIRE', key, rest) end
    end
  until cursor == '0'`

/** Moves the deadlines of every record under a prefix, as if that much time had passed on the server. */
export async function shiftRecords(client: Redis, prefix: string, ms: number): Promise<void> {
  await client.eval(SHIFT, 0, prefix, ms)
}

const ioredis = {
  name: 'ioredis',
  connect: () => new Redis(redisUrl()),
  end: (client: Redis) => client.disconnect(),
}

const connectNodeRedis = () => createClient({ url: redisUrl() }).connect()
const nodeRedis = {
  name: 'node-redis',
  connect: connectNodeRedis,
  end: (client: Awaited<ReturnType<typeof connectNodeRedis>>) => client.destroy(),
}

export const redis: OurStore = {
  entry: 'redis',
  describe: onRedis,
  stores: [
    {
      name: 'redisStore on ioredis',
      ...storeKind(
        ioredis,
        (client, place) => redisStore(client, { prefix: redisPrefix(place) }),
        (client, place, ms) => shiftRecords(client, redisPrefix(place), ms),
      ),
    },
    {
      name: 'redisStore on node-redis',
      ...storeKind(
        nodeRedis,
        (client, place) => redisStore(client, { prefix: redisPrefix(place) }),
        (client, place, ms) => client.eval(SHIFT, { arguments: [redisPrefix(place), String(ms)] }),
      ),
    },
  ],
  failures: [],
  inboxes: [],
  proof: {
    openPlace: () => redisPlace(redisUrl(), redisPrefix('proof')),
    stores: REDIS,
    inboxes: {},
    clients: ['ioredis', 'node-redis'],
  },
}
