import { join } from 'node:path'
import { type SqliteTransaction, sqliteFailures, sqliteInbox, sqliteStore } from 'tix-webhooks/sqlite'
import { describe } from 'vitest'
import { makeFolder, removeFolder } from '../server-process.js'
import { DRIVERS } from '../sqlite-drivers.js'
import { openDatabase, type TestDatabase, valuesOf } from '../sqlite-open.js'
import type { World } from './world.js'
import type { WorldKind } from './worlds.js'

const LEASES_END_MS = 2 * 60_000

/** With the table of effects, and failures. */
async function openFile(driver: string) {
  const folder = await makeFolder()
  const db = openDatabase(driver, join(folder, 'model.db'))
  db.exec('CREATE TABLE effects (effect TEXT NOT NULL)')
  const failures = sqliteFailures(db)
  await failures.migrate()
  return {
    db,
    failures,
    write: (effect: string) => (handed: TestDatabase) =>
      void handed.prepare('INSERT INTO effects VALUES (?)').run(effect),
    effects: async () => valuesOf(db, 'SELECT effect FROM effects') as string[],
    async close() {
      db.close()
      await removeFolder(folder)
    },
  }
}

async function openJoined(driver: string): Promise<World> {
  const { db, write, ...rest } = await openFile(driver)
  const inbox = sqliteInbox(db)
  await inbox.migrate()
  return {
    ...rest,
    name: 'sqliteInbox',
    records: inbox,
    guard: { inbox: inbox as never },
    isJoined: true,
    overlaps: true,
    effect: (tx, effect) => (tx as SqliteTransaction<TestDatabase>).commit(write(effect)),
    endLeases: async () => {},
  }
}

async function openStore(driver: string): Promise<World> {
  const { db, write, ...rest } = await openFile(driver)
  let now = Date.now()
  const store = sqliteStore(db, { now: () => now })
  await store.migrate()
  return {
    ...rest,
    name: 'sqliteStore',
    records: store,
    guard: { store },
    isJoined: false,
    effect: (_, effect) => write(effect)(db),
    endLeases: async () => {
      now += LEASES_END_MS
    },
  }
}

export const SQLITE_WORLDS: readonly WorldKind[] = DRIVERS.flatMap(({ name, isHere }) => [
  {
    name: `sqliteInbox and its failures on ${name}`,
    describe: describe.skipIf(!isHere),
    runs: 12,
    open: () => openJoined(name),
  },
  {
    name: `sqliteStore and its failures on ${name}`,
    describe: describe.skipIf(!isHere),
    runs: 8,
    open: () => openStore(name),
  },
])
