import { memory } from './stores/memory.js'
import { mysql } from './stores/mysql.js'
import { postgres } from './stores/postgres.js'
import { redis } from './stores/redis.js'
import { sqlite } from './stores/sqlite.js'

/** Our stores: test/stores and test/proof run on each. */
export const OUR_STORES = [memory, redis, postgres, mysql, sqlite] as const

/** Those whose server apps in several processes share. */
export const PROVED = OUR_STORES.flatMap(({ proof, ...store }) => (proof === null ? [] : { ...store, proof }))

/** Those with an inbox. */
export const PROVED_INBOXES = PROVED.filter(({ inboxes }) => inboxes.length > 0)
