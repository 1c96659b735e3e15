import { type SqliteDatabase, sqliteInbox, sqliteStore } from 'tix-webhooks/sqlite'
import type { StoreHarness } from 'tix-webhooks/testing'
import type { Parts } from '../app/fetch-app.js'
import type { LaneInbox } from '../app/lane-inbox.js'

interface Database extends SqliteDatabase {
  prepare(sql: string): ReturnType<SqliteDatabase['prepare']> & { run(id: string): unknown }
}
type DatabaseClass = new (path: string) => Database

/** An inbox and the cases of the store on the SQLite of the runtime. Empty on Node 20, which has none. */
export async function sqliteParts(): Promise<Parts> {
  const Database = await findDatabase()
  if (Database === undefined) return {}
  return {
    laneInbox: await inboxOf(new Database(':memory:')),
    backends: { sqlite: { harness: harness(new Database(':memory:')) } },
  }
}

async function findDatabase(): Promise<DatabaseClass | undefined> {
  const name = 'Bun' in globalThis ? 'bun:sqlite' : 'node:sqlite'
  try {
    const found = await import(name)
    return found.Database ?? found.DatabaseSync
  } catch {
    return undefined
  }
}

async function inboxOf(db: Database): Promise<LaneInbox> {
  db.exec('create table rows (id text)')
  const inbox = sqliteInbox(db)
  await inbox.migrate()
  return {
    rows: () =>
      db
        .prepare('select id from rows')
        .all()
        .map((row) => (row as { id: string }).id),
    inbox: {
      // Written when the handler calls it, but committed only with the record.
      once: (request, work) =>
        inbox.once(request, async (tx) => {
          const written: string[] = []
          await work({ write: (id) => written.push(id) })
          tx.commit(() => {
            for (const id of written) db.prepare('insert into rows values (?)').run(id)
          })
        }),
    },
  }
}

function harness(db: Database): StoreHarness {
  let now = 0
  async function create() {
    const store = sqliteStore(db, { now: () => now })
    await store.migrate()
    return store
  }
  return {
    create,
    createSecond: create,
    advance: async (ms) => {
      now += ms
    },
  }
}
