export type {
  IoredisClient,
  NodeRedisClient,
  RedisStoreClient,
  UpstashRedisClient,
} from './redis/client.js'
export { type RedisStoreOptions, redisStore } from './redis/store.js'
