import { join } from 'node:path'
import { sqliteInbox, sqliteStore } from 'tix-webhooks/sqlite'
import { openDatabase, type TestDatabase } from '../../test/support/sqlite-open.js'
import { type Arena, type Contender, throughInbox, throughStore } from './contender.js'

/** Each on its own files, because a file has one writer. */
export async function sqliteArenas(folder: string): Promise<Record<'store' | 'inbox', Arena>> {
  const open = (name: string) => openDatabase('libsql', join(folder, `${name}.db`))
  return {
    store: await storeArena(open('store'), open('store-by-hand')),
    inbox: await inboxArena(open('inbox'), open('inbox-by-hand')),
  }
}

async function storeArena(db: TestDatabase, other: TestDatabase): Promise<Arena> {
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
  return arena(throughStore('sqliteStore, libsql', store), byHand, [db, other])
}

async function inboxArena(db: TestDatabase, other: TestDatabase): Promise<Arena> {
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
  const ours = throughInbox('sqliteInbox, libsql', inbox, async (tx, key) =>
    tx.commit(() => effect?.run(key)),
  )
  return arena(ours, byHand, [db, other])
}

function arena(ours: Contender, byHand: Contender, databases: readonly TestDatabase[]): Arena {
  return {
    ours,
    byHand,
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
