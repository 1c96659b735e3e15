import { join } from 'node:path'
import { type SqliteStore, type SqliteStoreOptions, sqliteStore } from 'tix-webhooks/sqlite'
import { openDatabase, rowOf, type TestDatabase } from '../../test/support/sqlite-open.js'
import type { Bench } from '../support/bench.js'
import { keyOf, throughStore } from './contender.js'
import type { Counts, Full } from './full.js'

export async function fullSqlite(bench: Bench, { few, many }: Counts): Promise<Full> {
  bench.progress(`SQLite: ${many} events`)
  const folder = await bench.folder()
  const [small, large, byHand] = ['few', 'many', 'by-hand'].map((name) =>
    openDatabase('libsql', join(folder, `${name}.db`)),
  ) as [TestDatabase, TestDatabase, TestDatabase]
  const fewStore = await fillWithEvents(small, few)
  const manyStore = await fillWithEvents(large, many)
  const bytes = sizeOf(large)
  const bytesByHand = sizeByHand(byHand, many)
  return {
    name: 'sqliteStore, libsql',
    few: fewStore,
    many: manyStore,
    sizes: [
      { what: 'sqliteStore', bytesPerEvent: bytes / many },
      { what: 'SQLite by hand: a key and a state', bytesPerEvent: bytesByHand / many },
    ],
    async close() {
      for (const db of [small, large, byHand]) db.close()
    },
  }
}

/** One real claim and completion, and copies of its record under other keys, on a connection that no longer waits for the disk. */
export async function fillWithEvents(
  db: TestDatabase,
  count: number,
  options?: SqliteStoreOptions,
): Promise<SqliteStore> {
  const store = sqliteStore(db, options)
  await store.migrate()
  db.exec('PRAGMA synchronous = OFF')
  await throughStore('sqliteStore', store).deliver(keyOf(1))
  const others = columnsOf(db).filter((column) => column !== 'event_key')
  const copy = db.prepare(`
    INSERT INTO tix_webhooks_events (event_key, ${others.join(', ')})
    SELECT ?, ${others.join(', ')} FROM tix_webhooks_events WHERE event_key = '${keyOf(1)}'`)
  db.exec('BEGIN')
  for (let n = 2; n <= count; n++) copy.run(keyOf(n))
  db.exec('COMMIT')
  return store
}

/** The columns of the table of events. */
export function columnsOf(db: TestDatabase): string[] {
  const rows = db.prepare("SELECT name FROM pragma_table_info('tix_webhooks_events')").all()
  return rows.map((row) => (row as { name: string }).name)
}

function sizeByHand(db: TestDatabase, count: number): number {
  db.exec('PRAGMA synchronous = OFF')
  db.exec('CREATE TABLE by_hand (key TEXT NOT NULL PRIMARY KEY, state TEXT NOT NULL) WITHOUT ROWID')
  const insert = db.prepare("INSERT INTO by_hand (key, state) VALUES (?, 'completed')")
  db.exec('BEGIN')
  for (let n = 1; n <= count; n++) insert.run(keyOf(n))
  db.exec('COMMIT')
  return sizeOf(db)
}

function sizeOf(db: TestDatabase): number {
  const { page_count: pages } = rowOf(db, 'PRAGMA page_count')
  const { page_size: size } = rowOf(db, 'PRAGMA page_size')
  return Number(pages) * Number(size)
}
