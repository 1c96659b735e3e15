import { Redis } from 'ioredis'
import { createClient } from 'redis'
import { redisStore } from 'tix-webhooks/redis'
import { onRedis, redisPrefix, redisUrl } from '../on-servers.js'
import { redisPlace } from '../proof-places.js'
import { REDIS } from '../proof-redis.js'
import { type OurStore, storeKind } from './kinds.js'
import { SHIFT_REDIS } from './shift.js'

const ioredis = {
  name: 'redisStore on ioredis',
  connect: () => new Redis(redisUrl()),
  end: (client: Redis) => client.disconnect(),
}

const connectNodeRedis = () => createClient({ url: redisUrl() }).connect()
const nodeRedis = {
  name: 'redisStore on node-redis',
  connect: connectNodeRedis,
  end: (client: Awaited<ReturnType<typeof connectNodeRedis>>) => client.destroy(),
}

export const redis: OurStore = {
  entry: 'redis',
  expires: true,
  describe: onRedis,
  stores: [
    storeKind(
      ioredis,
      (client, place) => redisStore(client, { prefix: redisPrefix(place) }),
      (client, place, ms) => client.eval(SHIFT_REDIS, 0, redisPrefix(place), ms),
    ),
    storeKind(
      nodeRedis,
      (client, place) => redisStore(client, { prefix: redisPrefix(place) }),
      (client, place, ms) => client.eval(SHIFT_REDIS, { arguments: [redisPrefix(place), String(ms)] }),
    ),
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
