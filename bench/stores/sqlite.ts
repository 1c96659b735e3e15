import { join } from 'node:path'
import { sqliteInbox, sqliteStore } from 'tix-webhooks/sqlite'
import { openDatabase, type TestDatabase } from '../../test/support/sqlite-open.js'
import { type Arena, type Contender, throughInbox, throughStore } from './contender.js'

/** `node:sqlite` comes with Node 22. */
const DRIVERS = [
  'libsql',
  ...(process.getBuiltinModule?.('node:sqlite') === undefined ? [] : ['node:sqlite']),
]

/** Each on its own files, because a file has one writer. All are synchronous: nothing is ever in flight. */
export async function sqliteArenas(folder: string): Promise<Arena[]> {
  const arenas: Arena[] = []
  for (const driver of DRIVERS) {
    const open = (name: string) =>
      openDatabase(driver, join(folder, `${driver.replace(':', '-')}-${name}.db`))
    arenas.push(await storeArena(driver, open('store'), open('store-by-hand')))
    arenas.push(await inboxArena(driver, open('inbox'), open('inbox-by-hand')))
  }
  return arenas
}

async function storeArena(driver: string, db: TestDatabase, other: TestDatabase): Promise<Arena> {
  const store = sqliteStore(db)
  await store.migrate()
  durable(other)
  other.exec('CREATE TABLE by_hand (key TEXT NOT NULL PRIMARY KEY, state TEXT NOT NULL) WITHOUT ROWID')
  const insert = other.prepare(
    "INSERT INTO by_hand (key, state) VALUES (?, 'running') ON CONFLICT DO NOTHING",
  )
  const update = other.prepare("UPDATE by_hand SET state = 'completed' WHERE key = ?")
  const byHand: Contender = {
    name: 'INSERT ON CONFLICT DO NOTHING, then UPDATE',
    async deliver(key) {
      if (insert.run(key).changes === 0) return false
      update.run(key)
      return true
    },
  }
  return arena(`sqliteStore, ${driver}`, throughStore('sqliteStore', store), byHand, [db, other])
}

async function inboxArena(driver: string, db: TestDatabase, other: TestDatabase): Promise<Arena> {
  const inbox = sqliteInbox(db)
  await inbox.migrate()
  durable(other)
  other.exec('CREATE TABLE by_hand (key TEXT NOT NULL PRIMARY KEY) WITHOUT ROWID')
  const [effect, otherEffect] = [db, other].map((one) => {
    one.exec('CREATE TABLE effects (key TEXT NOT NULL)')
    return one.prepare('INSERT INTO effects (key) VALUES (?)')
  })
  const insert = other.prepare('INSERT INTO by_hand (key) VALUES (?) ON CONFLICT DO NOTHING')
  const byHand: Contender = {
    name: 'BEGIN IMMEDIATE, INSERT ON CONFLICT DO NOTHING, effect, COMMIT',
    async deliver(key) {
      other.exec('BEGIN IMMEDIATE')
      const isNew = insert.run(key).changes === 1
      if (isNew) otherEffect?.run(key)
      other.exec(isNew ? 'COMMIT' : 'ROLLBACK')
      return isNew
    },
  }
  const ours = throughInbox('sqliteInbox', inbox, async (tx, key) => tx.commit(() => effect?.run(key)))
  return arena(`sqliteInbox, ${driver}`, ours, byHand, [db, other])
}

function arena(name: string, ours: Contender, byHand: Contender, databases: readonly TestDatabase[]): Arena {
  return {
    name,
    ours,
    byHand: [byHand],
    inFlight: [1],
    async close() {
      for (const db of databases) db.close()
    },
  }
}

/** As durable as the store's own databases. */
function durable(db: TestDatabase): void {
  db.exec('PRAGMA journal_mode = WAL')
  db.exec('PRAGMA synchronous = FULL')
}
