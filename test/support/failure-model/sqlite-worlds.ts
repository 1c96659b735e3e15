import { join } from 'node:path'
import { type SqliteTransaction, sqliteFailures, sqliteInbox, sqliteStore } from 'tix-webhooks/sqlite'
import { describe } from 'vitest'
import { makeFolder, removeFolder } from '../server-process.js'
import { openDatabase, type TestDatabase, valuesOf } from '../sqlite-open.js'
import type { World } from './world.js'
import { LEASES_END_MS, type WorldKind } from './worlds.js'

function insert(db: TestDatabase, effect: string): void {
  db.prepare('INSERT INTO effects (effect) VALUES (?)').run(effect)
}

async function openSqlite(kind: 'store' | 'inbox'): Promise<World> {
  const folder = await makeFolder()
  const db = openDatabase('libsql', join(folder, 'model.db'))
  db.exec('CREATE TABLE effects (effect TEXT NOT NULL)')
  let now = Date.now()
  const failures = sqliteFailures(db)
  const inbox = sqliteInbox(db)
  const store = sqliteStore(db, { now: () => now })
  for (const one of [failures, inbox, store]) await one.migrate()
  return {
    failures,
    records: kind === 'inbox' ? inbox : store,
    guard: kind === 'inbox' ? { inbox: inbox as never } : { store },
    isJoined: kind === 'inbox',
    overlaps: kind === 'inbox',
    effect: (tx, effect) =>
      tx === undefined
        ? insert(db, effect)
        : (tx as SqliteTransaction<TestDatabase>).commit((inside) => insert(inside, effect)),
    effects: async () => valuesOf(db, 'SELECT effect FROM effects') as string[],
    endLeases: async () => {
      now += LEASES_END_MS
    },
    async close() {
      db.close()
      await removeFolder(folder)
    },
  }
}

export const SQLITE_WORLDS: readonly WorldKind[] = (['store', 'inbox'] as const).map((kind) => ({
  name: `SQLite, ${kind}`,
  describe,
  runs: 15,
  open: () => openSqlite(kind),
}))
