export type { D1Database } from './d1/database.js'
export { type D1Store, type D1StoreOptions, d1Store } from './d1/store.js'
