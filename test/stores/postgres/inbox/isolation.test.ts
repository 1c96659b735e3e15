import type { TransactionSql } from 'postgres'
import { ddl, postgresInbox } from 'tix-webhooks/postgres'
import { expect, test } from 'vitest'
import { eventually } from '../../../support/eventually.js'
import { onPostgres } from '../../../support/on-servers.js'
import { INBOX_CLIENTS, openPg, openPostgresJs } from '../../../support/postgres-clients.js'
import { testDatabase } from '../../../support/postgres-database.js'
import { deferred } from '../../../support/promises.js'

const LEVELS = ['read uncommitted', 'read committed', 'repeatable read', 'serializable']
const ROWS = LEVELS.flatMap((level) => INBOX_CLIENTS.map((client) => [level, client.name, client] as const))

// The default of a role, a database or a server.
onPostgres.each(ROWS)('transactions that are %s, over %s', (level, name, library) => {
  const database = testDatabase('CREATE TABLE effects (id text)', ddl)
  const retainMs = 60_000
  const open = () => {
    const client = library.open(database, { settings: { default_transaction_isolation: level }, max: 6 })
    return { ...client, inbox: client.inbox() }
  }

  test('take no event for handled whose run is not over, and wait for no run', async () => {
    const { inbox, run } = open()
    const request = { key: `k/${name}`, retainMs }
    const write = async (tx: unknown) => void (await run(tx, `INSERT INTO effects VALUES ('${level}')`))
    for (const fails of [true, false]) {
      const [written, goOn] = [deferred(), deferred()]
      const first = inbox.once(request, async (tx) => {
        await write(tx)
        written.resolve()
        await goOn.promise
        if (fails) throw new Error('too late')
      })
      const ended = expect(
        first.then(
          ({ status }) => status,
          (error: Error) => error.message,
        ),
      )
      await written.promise
      // While it runs: what waited for it would never go on.
      expect(await inbox.once(request, () => expect.fail('It ran twice'))).toEqual({ status: 'in_flight' })
      expect(await inbox.isHandled(request.key)).toBe(false)
      goOn.resolve()
      await ended.resolves.toBe(fails ? 'too late' : 'handled')
      expect(await inbox.isHandled(request.key)).toBe(!fails)
    }
    expect(await inbox.once(request, write)).toEqual({ status: 'duplicate' })
    expect(await database.column('SELECT id FROM effects')).toEqual([level])
  })

  test('run an event once whose deliveries arrive together', async () => {
    const { inbox, run } = open()
    await database.query('TRUNCATE effects')
    const keys = Array.from({ length: 12 }, (_, index) => `together/${index}`)
    const deliver = (key: string) =>
      inbox.once(
        { key, retainMs },
        async (tx) => void (await run(tx, `INSERT INTO effects VALUES ('${key}')`)),
      )
    for (const key of keys) {
      const ends = await Promise.allSettled(Array.from({ length: 5 }, () => deliver(key)))
      const statuses = ends.map((end) => (end.status === 'fulfilled' ? end.value.status : end.reason.code))
      expect(statuses.filter((status) => status === 'handled')).toHaveLength(1)
      for (const status of statuses)
        expect(status).toMatch(/^(handled|duplicate|in_flight|store_unavailable)$/)
      expect(await deliver(key)).toEqual({ status: 'duplicate' })
    }
    expect(await database.column('SELECT id FROM effects ORDER BY length(id), id')).toEqual(keys)
  })
})

onPostgres('a delivery', () => {
  const database = testDatabase(ddl)

  test('finds the record that another one commits while the statement that records its event begins', async () => {
    const pause = 20_261_128
    const sql = openPostgresJs(database)
    const pool = openPg(database)
    const request = { key: 'k', retainMs: 60_000 }
    // Its statement waits between its snapshot and the lock of the event.
    const slow = postgresInbox<TransactionSql>({
      transaction: (work) => sql.begin(work) as ReturnType<typeof work>,
      query: (tx, text, parameters) =>
        tx.unsafe(
          text.replace(
            /WHERE (pg_try.*)/,
            `WHERE CASE WHEN pg_advisory_xact_lock(${pause})::text IS NOT NULL THEN $1 END`,
          ),
          parameters as never[],
        ),
    })
    const holder = await pool.connect()
    await holder.query(`SELECT pg_advisory_lock(${pause})`)
    const late = slow.once(request, () => expect.fail('It ran twice'))
    const waiting = `SELECT count(*)::int FROM pg_locks WHERE objid = ${pause} AND NOT granted`
    await eventually(async () => expect(await database.column(waiting)).toEqual([1]))
    expect(await postgresInbox(pool).once(request, async () => {})).toEqual({ status: 'handled' })
    await holder.query(`SELECT pg_advisory_unlock(${pause})`)
    holder.release()
    expect(await late).toEqual({ status: 'duplicate' })
  })
})
