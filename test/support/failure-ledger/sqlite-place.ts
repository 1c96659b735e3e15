import { join } from 'node:path'
import { sqliteFailures, sqliteInbox } from 'tix-webhooks/sqlite'
import { makeFolder, removeFolder } from '../server-process.js'
import { openDatabase, valuesOf } from '../sqlite-open.js'
import { keyOfOrder } from './plans.js'
import type { LedgerPlace } from './storm.js'

/** A file of SQLite for a storm, and its end. */
export interface SqliteLedgerPlace extends LedgerPlace {
  readonly file: string
  /** Of what the handlers need beside their transactions. */
  readonly asideFile: string
  /** Keeps all others from writing. Returns the function that lets them. */
  lock(): () => void
  close(): Promise<void>
}

const SAMPLE = `
  SELECT 'lost: ' || value FROM json_each(?)
  WHERE value NOT IN (SELECT key FROM tix_webhooks_failures)
  AND value NOT IN (SELECT key FROM tix_webhooks_inbox)
  UNION ALL
  SELECT 'stuck: ' || key FROM tix_webhooks_failures
  WHERE key IN (SELECT key FROM tix_webhooks_inbox)`

export async function sqliteLedgerPlace(driver: string): Promise<SqliteLedgerPlace> {
  const folder = await makeFolder()
  const [file, asideFile] = [join(folder, 'app.db'), join(folder, 'aside.db')]
  const [db, writer, aside] = [file, file, asideFile].map((path) => openDatabase(driver, path)) as [
    ReturnType<typeof openDatabase>,
    ReturnType<typeof openDatabase>,
    ReturnType<typeof openDatabase>,
  ]
  await sqliteInbox(db).migrate()
  await sqliteFailures(db).migrate()
  db.exec('CREATE TABLE effects (id TEXT NOT NULL)')
  writer.exec('PRAGMA busy_timeout = 10000')
  aside.exec('PRAGMA journal_mode = WAL')
  aside.exec('CREATE TABLE runs (id TEXT PRIMARY KEY, count INTEGER NOT NULL)')
  aside.exec('CREATE TABLE fixes (deployed INTEGER)')
  const sample = db.prepare(SAMPLE)
  const keys = (sql: string): string[] => valuesOf(db, sql).map(String)

  return {
    file,
    asideFile,
    async facts() {
      const effects = new Map<string, number>()
      for (const id of keys('SELECT id FROM effects')) {
        effects.set(keyOfOrder(id), (effects.get(keyOfOrder(id)) ?? 0) + 1)
      }
      const kept = db.prepare('SELECT key, state, raw_body FROM tix_webhooks_failures').all() as {
        key: string
        state: string
        raw_body: Uint8Array
      }[]
      return {
        handled: new Set(keys('SELECT key FROM tix_webhooks_inbox')),
        effects,
        kept: new Map(kept.map(({ key, state, raw_body }) => [key, { state, rawBody: raw_body }])),
      }
    },
    async sample(settled) {
      return sample
        .all(JSON.stringify(settled))
        .map((row) => `at some moment ${Object.values(row as object)[0]}`)
    },
    keptKeys: async () => keys('SELECT key FROM tix_webhooks_failures'),
    async deployFix() {
      aside.exec('INSERT INTO fixes VALUES (1)')
    },
    lock() {
      writer.exec('BEGIN IMMEDIATE')
      return () => void writer.exec('ROLLBACK')
    },
    async close() {
      for (const opened of [db, writer, aside]) opened.close()
      await removeFolder(folder)
    },
  }
}
