import { type SqliteTransaction, sqliteFailures, sqliteInbox } from 'tix-webhooks/sqlite'
import { failingSettings, serveFailing } from '../failure-ledger/serving.js'
import { openDatabase, rowOf, type TestDatabase } from '../sqlite-open.js'

const { client, url, asideUrl } = failingSettings()
const aside = openDatabase(client, asideUrl)
aside.exec('PRAGMA busy_timeout = 10000')

let losesCommit = false
let whenLost = (): void => {}

/** A database that can report a COMMIT as failed though it was applied. */
function losing(real: TestDatabase): TestDatabase {
  return {
    prepare: (sql) => real.prepare(sql),
    exec(sql) {
      real.exec(sql)
      if (sql !== 'COMMIT' || !losesCommit) return
      losesCommit = false
      whenLost()
      throw new Error('disk I/O error')
    },
    close: () => real.close(),
  }
}

const db = losing(openDatabase(client, url))

serveFailing<SqliteTransaction<TestDatabase>>({
  protection: { inbox: sqliteInbox(db), failures: sqliteFailures(db) },
  async effect(order, tx, end) {
    tx.commit((handed) => {
      handed.prepare('INSERT INTO effects (id) VALUES (?)').run(order)
      end()
    })
  },
  async countRun(order) {
    const counted = `INSERT INTO runs VALUES (?, 1) ON CONFLICT (id) DO UPDATE SET count = count + 1 RETURNING count`
    return Number(rowOf(aside, counted, order).count)
  },
  isFixed: async () => aside.prepare('SELECT 1 FROM fixes').get() !== undefined,
  faults: {
    '/lose-commit': () =>
      new Promise<void>((resolve) => {
        losesCommit = true
        whenLost = resolve
      }),
  },
})
