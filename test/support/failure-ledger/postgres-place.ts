import { Pool } from 'pg'
import { postgresPlace } from '../proof-places.js'
import { keyOfOrder } from './plans.js'
import type { SqlLedgerPlace } from './storm.js'

/** SQL of the keys that are handled. The effects of a store are not recorded in the same transaction, and count too. */
const HANDLED = {
  inbox: (schema: string) => `SELECT key FROM ${schema}.inbox`,
  store: (schema: string) =>
    `SELECT key FROM ${schema}.records WHERE state = 'completed' UNION SELECT '${keyOfOrder('')}' || id FROM ${schema}.effects`,
}

export async function postgresLedgerPlace(url: string, guard: 'inbox' | 'store'): Promise<SqlLedgerPlace> {
  const schema = await postgresPlace(url)
  const { place } = schema
  const pool = new Pool({ connectionString: url, max: 3 }).on('error', () => {})
  const rows = async (sql: string, parameters: unknown[] = []) => (await pool.query(sql, parameters)).rows
  await rows(`CREATE TABLE ${place}.runs (id text PRIMARY KEY, count integer NOT NULL)`)
  await rows(`CREATE TABLE ${place}.fixes (deployed boolean)`)
  // A failure takes a while to be kept, so that other deliveries of its event overtake it if they can.
  await rows(`
    CREATE FUNCTION ${place}.take_time() RETURNS trigger AS 'BEGIN PERFORM pg_sleep(random() / 12); RETURN NEW; END' LANGUAGE plpgsql;
    CREATE TRIGGER take_time BEFORE INSERT ON ${place}.failures FOR EACH ROW EXECUTE FUNCTION ${place}.take_time()`)
  await rows(`CREATE VIEW ${place}.handled AS ${HANDLED[guard](place)}`)

  const neither = `
    SELECT 'lost: ' || value AS fault FROM jsonb_array_elements_text($1::jsonb) AS given (value)
    WHERE NOT EXISTS (SELECT FROM ${place}.failures WHERE key = value)
    AND NOT EXISTS (SELECT FROM ${place}.handled WHERE key = value)`
  const both = `SELECT 'stuck: ' || key FROM ${place}.failures WHERE key IN (SELECT key FROM ${place}.handled)`
  const sample = guard === 'inbox' ? `${neither} UNION ALL ${both}` : neither

  return {
    place,
    async facts() {
      const handled = await rows(`SELECT key FROM ${place}.handled`)
      const effects = await rows(`SELECT id, count(*)::integer AS count FROM ${place}.effects GROUP BY id`)
      const kept = await rows(`SELECT key, state, raw_body AS "rawBody" FROM ${place}.failures`)
      return {
        handled: new Set(handled.map(({ key }) => key)),
        effects: new Map(effects.map(({ id, count }) => [keyOfOrder(id), count])),
        kept: new Map(kept.map(({ key, ...failure }) => [key, failure])),
      }
    },
    async sample(settled) {
      return (await rows(sample, [JSON.stringify(settled)])).map(({ fault }) => `at some moment ${fault}`)
    },
    keptKeys: async () => (await rows(`SELECT key FROM ${place}.failures`)).map(({ key }) => key),
    async deployFix() {
      await rows(`INSERT INTO ${place}.fixes VALUES (true)`)
    },
    async terminate() {
      await rows(
        `SELECT pg_terminate_backend(pid) FROM (
           SELECT pid FROM pg_stat_activity WHERE application_name = $1 ORDER BY random() LIMIT 4
         ) AS chosen`,
        [place],
      )
    },
    async close() {
      await schema.close()
      await pool.end()
    },
  }
}
