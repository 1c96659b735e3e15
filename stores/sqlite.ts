export type { SqliteDatabase } from './sqlite/database.js'
export {
  type SqliteInbox,
  type SqliteInboxOptions,
  type SqliteTransaction,
  sqliteInbox,
} from './sqlite/inbox.js'
export { type SqliteStore, type SqliteStoreOptions, sqliteStore } from './sqlite/store.js'
