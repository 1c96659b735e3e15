import { setTimeout as pause } from 'node:timers/promises'
import { Pool } from 'pg'
import { type FailingApp, failingSettings, serveFailing } from '../failure-ledger/serving.js'
import { INBOXES, POSTGRES, type PostgresClientName } from '../proof-postgres.js'

const settings = failingSettings()
const { place } = settings
const client = settings.client as PostgresClientName
const CONNECTIONS = 5
const STARVED_MS = 1_000

const aside = new Pool({ connectionString: settings.asideUrl, max: 3 }).on('error', () => {})

/** The needs of the handlers beside their transactions. */
const about: Pick<FailingApp<unknown>, 'countRun' | 'isFixed'> = {
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
  void INBOXES[client]({ ...settings, connections: CONNECTIONS }).then(
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
  void POSTGRES[client]({ ...settings, connections: CONNECTIONS }).then(
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
