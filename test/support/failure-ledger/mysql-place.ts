import mysql from 'mysql2/promise'
import { mysqlPlace } from '../proof-places.js'
import { keyOfOrder } from './plans.js'
import type { SqlLedgerPlace } from './storm.js'

/** SQL of the keys that are handled. The effects of a store are not recorded in the same transaction, and count too. */
const HANDLED = {
  inbox: (database: string) => `SELECT \`key\` FROM ${database}.inbox`,
  store: (database: string) =>
    `SELECT \`key\` FROM ${database}.records WHERE state = 'completed' UNION SELECT CONCAT('${keyOfOrder('')}', id) FROM ${database}.effects`,
}

export async function mysqlLedgerPlace(url: string, guard: 'inbox' | 'store'): Promise<SqlLedgerPlace> {
  const database = await mysqlPlace(url)
  const { place } = database
  const pool = mysql.createPool({ uri: url, connectionLimit: 3 })
  const rows = async (sql: string, values: unknown[] = []) =>
    (await pool.query<mysql.RowDataPacket[]>(sql, values))[0]
  await rows(`CREATE TABLE ${place}.runs (id VARCHAR(64) PRIMARY KEY, count BIGINT NOT NULL)`)
  await rows(`CREATE TABLE ${place}.fixes (deployed BOOLEAN)`)
  // A failure takes a while to be kept, so that other deliveries of its event overtake it if they can.
  await rows(
    `CREATE TRIGGER ${place}.take_time BEFORE INSERT ON ${place}.failures FOR EACH ROW SET @slept = SLEEP(RAND() / 12)`,
  )
  await rows(`CREATE VIEW ${place}.handled AS ${HANDLED[guard](place)}`)

  // One statement, and so one moment.
  const sample = `
    SELECT CONVERT(\`key\` USING utf8mb4) AS name, 'kept' AS what FROM ${place}.failures
    UNION ALL SELECT CONVERT(\`key\` USING utf8mb4), 'handled' FROM ${place}.handled`

  return {
    place,
    async facts() {
      const handled = await rows(`SELECT CONVERT(\`key\` USING utf8mb4) AS name FROM ${place}.handled`)
      const effects = await rows(`SELECT id, COUNT(*) AS count FROM ${place}.effects GROUP BY id`)
      const kept = await rows(
        `SELECT CONVERT(\`key\` USING utf8mb4) AS name, state, raw_body AS rawBody FROM ${place}.failures`,
      )
      return {
        handled: new Set(handled.map(({ name }) => name)),
        effects: new Map(effects.map(({ id, count }) => [keyOfOrder(id), count])),
        kept: new Map(kept.map(({ name, state, rawBody }) => [name, { state, rawBody }])),
      }
    },
    async sample(settled) {
      const found = await rows(sample)
      const named = (wanted: string): Set<string> =>
        new Set(found.filter(({ what }) => what === wanted).map(({ name }) => name))
      const [kept, handled] = [named('kept'), named('handled')]
      const neither = settled.filter((key) => !kept.has(key) && !handled.has(key))
      const both = guard === 'inbox' ? [...kept].filter((key) => handled.has(key)) : []
      return [
        ...neither.map((key) => `at some moment lost: ${key}`),
        ...both.map((key) => `at some moment stuck: ${key}`),
      ]
    },
    keptKeys: async () =>
      (await rows(`SELECT CONVERT(\`key\` USING utf8mb4) AS name FROM ${place}.failures`)).map(
        ({ name }) => name,
      ),
    async deployFix() {
      await rows(`INSERT INTO ${place}.fixes VALUES (true)`)
    },
    async terminate() {
      const chosen = await rows(
        'SELECT ID AS id FROM information_schema.PROCESSLIST WHERE DB = ? ORDER BY RAND() LIMIT 4',
        [place],
      )
      // It may have ended since.
      for (const { id } of chosen) await rows(`KILL ${id}`).catch(() => {})
    },
    async close() {
      await database.close()
      await pool.end()
    },
  }
}
