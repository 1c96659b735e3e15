import { setTimeout as pause } from 'node:timers/promises'
import mysql from 'mysql2/promise'
import { Pool } from 'pg'
import { type FailingApp, failingSettings, serveFailing } from '../failure-ledger/serving.js'
import { SQL_INBOXES, SQL_STORES } from '../proof-clients.js'

const settings = failingSettings()
const { place } = settings
const client = settings.client as keyof typeof SQL_STORES
const CONNECTIONS = 5
const STARVED_MS = 1_000

/** The needs of the handlers beside their transactions. */
type Aside = Pick<FailingApp<unknown>, 'countRun' | 'isFixed'>

function onPostgres(): Aside {
  const aside = new Pool({ connectionString: settings.asideUrl, max: 3 }).on('error', () => {})
  return {
    async countRun(order) {
      const { rows } = await aside.query(
        `INSERT INTO ${place}.runs AS counted VALUES ($1, 1)
       ON CONFLICT (id) DO UPDATE SET count = counted.count + 1 RETURNING count`,
        [order],
      )
      return rows[0].count
    },
    isFixed: async () => (await aside.query(`SELECT FROM ${place}.fixes`)).rowCount !== 0,
  }
}

function onMysql(): Aside {
  const aside = mysql.createPool({ uri: settings.asideUrl, connectionLimit: 3 })
  return {
    async countRun(order) {
      const [counted] = await aside.query<mysql.ResultSetHeader>(
        `INSERT INTO ${place}.runs VALUES (?, LAST_INSERT_ID(1)) ON DUPLICATE KEY UPDATE count = LAST_INSERT_ID(count + 1)`,
        [order],
      )
      return counted.insertId
    },
    isFixed: async () =>
      (await aside.query<mysql.RowDataPacket[]>(`SELECT 1 FROM ${place}.fixes`))[0].length > 0,
  }
}

const about = settings.asideUrl.startsWith('mysql') ? onMysql() : onPostgres()

/** Each connection for so long, from when it is free: one that was just terminated may never be. */
const starving = (occupy: () => Promise<() => unknown>) => ({
  '/starve': async () => {
    const hold = async (): Promise<void> => {
      const release = await occupy()
      await pause(STARVED_MS)
      release()
    }
    for (let i = 0; i < CONNECTIONS; i++) void hold().catch(() => {})
    await pause(STARVED_MS)
  },
})

if (settings.guard === 'inbox') {
  void SQL_INBOXES[client]?.({ ...settings, connections: CONNECTIONS }).then(
    ({ inbox, failures, effect, occupy }) =>
      serveFailing({
        protection: { inbox, failures },
        async effect(order, tx, end) {
          await effect(order, tx)
          end()
        },
        ...about,
        faults: starving(occupy),
      }),
  )
} else {
  void SQL_STORES[client]({ ...settings, connections: CONNECTIONS }).then(
    ({ store, failures, effect, occupy }) =>
      serveFailing<undefined>({
        protection: { store, failures },
        async effect(order, _tx, end) {
          // Nothing rolls it back.
          end()
          await effect(order, 1)
        },
        ...about,
        faults: starving(occupy),
      }),
  )
}
