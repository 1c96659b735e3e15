// An inbox of your own, tested by the cases for every inbox. The harness shows them how to use it; this one is of sqliteInbox.
import Database from 'libsql'
import { type SqliteTransaction, sqliteInbox, sqliteStore } from 'tix-webhooks/sqlite'
import { type InboxHarness, inboxCases } from 'tix-webhooks/testing'

const db = new Database(':memory:')
db.exec('CREATE TABLE effects (id TEXT)')
let now = Date.now()

type Tx = { ids: string[] }

const harness: InboxHarness<Tx> = {
  async create() {
    const { migrate, once, ...ledger } = sqliteInbox(db, { now: () => now }) // yours
    await migrate()
    // Its transaction is one synchronous call at the end of a handler: what a case writes is kept until then.
    const commit = async (
      { commit }: SqliteTransaction<Database.Database>,
      work: (tx: Tx) => Promise<void>,
    ) => {
      const ids: string[] = []
      await work({ ids })
      commit(() => ids.forEach((id) => void db.prepare('INSERT INTO effects VALUES (?)').run(id)))
    }
    return {
      ...ledger,
      once: (request, work) => once(request, (tx, run) => commit(tx, (own) => work(own, run))),
    }
  },
  write: async (tx, id) => tx.ids.push(id),
  read: async () => db.prepare('SELECT id FROM effects').pluck().all() as string[],
  fail: null, // nothing goes on in a transaction in which a statement has failed
  nest: null,
  cut: null, // in this process there is no connection
  advance: async (ms) => {
    now += ms
  },
  store: async () => sqliteStore(db, { now: () => now }), // on the same table; null if you have none
}

export async function prove(): Promise<void> {
  for (const { name, needs, run } of inboxCases) {
    // null: it cannot happen with this database.
    if (needs !== undefined && harness[needs] === null) continue
    await run(harness)
    console.info(`the inbox ${name}`)
  }
}
