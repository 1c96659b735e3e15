import { REDIS, type RedisClientName } from '../proof-redis.js'
import { serve, settings, stoppable } from './serving.js'

/** An app with a store in Redis, whose effects are in Redis too. */
void REDIS[settings.client as RedisClientName](settings).then(({ store, effect }) =>
  serve({ store: stoppable(store) }, (order, { attempt }) => effect(order, attempt)),
)
