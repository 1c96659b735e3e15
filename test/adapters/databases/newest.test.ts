import fc from 'fast-check'
import { type Change, Discard, type KeptFailures, type OnceRequest, type Purgeable } from 'tix-webhooks'
import { type MysqlInbox, ddl as mysqlDdl } from 'tix-webhooks/mysql'
import { type PostgresInbox, ddl as postgresDdl } from 'tix-webhooks/postgres'
import { type SqliteTransaction, sqliteFailures, sqliteInbox } from 'tix-webhooks/sqlite'
import { beforeEach, describe, expect, test } from 'vitest'
import { MYSQL_INBOX_CLIENTS } from '../../support/mysql-clients.js'
import { testMysqlDatabase } from '../../support/mysql-database.js'
import { onMysql, onPostgres } from '../../support/on-servers.js'
import { INBOX_CLIENTS } from '../../support/postgres-clients.js'
import { testDatabase } from '../../support/postgres-database.js'
import { DRIVERS } from '../../support/sqlite-drivers.js'
import { openDatabase, type TestDatabase as SqliteDatabase } from '../../support/sqlite-open.js'

const DAY_MS = 86_400_000
const RETAIN = { key: null, retainMs: 7 * DAY_MS }
const TABLE = 'tix_webhooks_inbox_newest'
const at = (second: number): string => `2026-11-22T10:00:0${second}Z`

interface Opened {
  readonly inbox: Purgeable
  /** Joins it with failures of the same pool. */
  join(): unknown
  /** Asks `isNewest` in a delivery of its own, whose handler then throws the error, if there is one. */
  ask(changes: readonly Change[], request?: OnceRequest, error?: Error): Promise<readonly boolean[]>
}

interface Database {
  open(options?: { readonly retentionSeconds?: number }): Opened
  query(sql: string): unknown
  /** The rows of a SELECT, each as its values. */
  rows(sql: string): Promise<unknown[][]>
  /** The time that was so many hours ago, in SQL. */
  ago(hours: number): string
  /** The days until `expires_at`, in SQL. */
  readonly daysLeft: string
}

interface Backend {
  readonly name: string
  readonly describe: typeof describe | ReturnType<typeof describe.skipIf>
  /** Whether the client alone is new: to the tests of the SQL, it is the same as the one before it. */
  readonly isFurtherClient: boolean
  /** Prepares a database for the tests of a `describe`. */
  prepare(): Database
}

const valuesOf = (rows: readonly object[]): unknown[][] => rows.map((row) => Object.values(row))

function opened(inbox: PostgresInbox<unknown> | MysqlInbox<unknown>, failures: () => KeptFailures): Opened {
  return {
    inbox,
    join: () => inbox.joinFailures?.(failures()),
    async ask(changes, request = RETAIN, error = undefined) {
      let answers: readonly boolean[] = []
      await inbox.once(request, async (tx) => {
        answers = await inbox.isNewest(tx, changes)
        if (error !== undefined) throw error
      })
      return answers
    },
  }
}

const POSTGRES = INBOX_CLIENTS.map((library, i): Backend => {
  return {
    name: `postgresInbox over ${library.name}`,
    describe: onPostgres,
    isFurtherClient: i > 0,
    prepare() {
      const database = testDatabase(postgresDdl)
      return {
        open(options) {
          const client = library.open(database)
          return opened(client.inbox(options), () => client.failures())
        },
        query: (sql) => database.query(sql),
        rows: async (sql) => valuesOf(await database.query(sql)),
        ago: (hours) => `now() - interval '${hours} h'`,
        daysLeft: 'extract(epoch FROM expires_at - now()) / 86400',
      }
    },
  }
})

const MYSQL = MYSQL_INBOX_CLIENTS.map((library, i): Backend => {
  return {
    name: `mysqlInbox over ${library.name}`,
    describe: onMysql,
    isFurtherClient: i > 0,
    prepare() {
      const database = testMysqlDatabase(mysqlDdl)
      return {
        open(options) {
          const client = library.open(database)
          return opened(client.inbox(options), () => client.failures())
        },
        query: (sql) => database.query(sql),
        rows: async (sql) => valuesOf(await database.query(sql)),
        ago: (hours) => `UTC_TIMESTAMP(6) - INTERVAL ${hours} HOUR`,
        daysLeft: 'TIMESTAMPDIFF(SECOND, UTC_TIMESTAMP(), expires_at) / 86400',
      }
    },
  }
})

const SQLITE = DRIVERS.map((driver): Backend => {
  return {
    name: `sqliteInbox on ${driver.name}`,
    describe: describe.skipIf(!driver.isHere),
    isFurtherClient: false,
    prepare() {
      let db: SqliteDatabase
      beforeEach(async () => {
        db = openDatabase(driver.name, ':memory:')
        await sqliteInbox(db).migrate()
        return () => void db.close()
      })
      return {
        open(options) {
          const inbox = sqliteInbox(db, options)
          return {
            inbox,
            join: () => inbox.joinFailures?.(sqliteFailures(db)),
            async ask(changes, request = RETAIN, error = undefined) {
              let answers: readonly boolean[] = []
              await inbox.once(request, async (tx: SqliteTransaction<SqliteDatabase>) =>
                tx.commit((handed) => {
                  answers = inbox.isNewest(handed, changes)
                  if (error !== undefined) throw error
                }),
              )
              return answers
            },
          }
        },
        query: (sql) => db.exec(sql),
        rows: async (sql) => valuesOf(db.prepare(sql).all() as object[]),
        ago: (hours) => `${Date.now() - hours * 3_600_000}`,
        daysLeft: `(expires_at - unixepoch() * 1000) / ${DAY_MS}.0`,
      }
    },
  }
})

for (const { name, describe, isFurtherClient, prepare } of [...POSTGRES, ...MYSQL, ...SQLITE]) {
  describe(`isNewest of ${name}`, () => {
    const database = prepare()
    const records = async () =>
      (await database.rows('SELECT count(*) FROM tix_webhooks_inbox')).map(([count]) => Number(count))
    const stored = async () =>
      (await database.rows(`SELECT subject, changed_at, ${TABLE}.rank FROM ${TABLE} ORDER BY subject`)).map(
        ([subject, changedAt, rank]) => `${subject} ${String(changedAt).slice(17, 19)} ${rank}`,
      )

    beforeEach(async () => {
      for (const table of ['tix_webhooks_inbox', TABLE]) await database.query(`DELETE FROM ${table}`)
    })

    test('is true of what is newer or as new, by date and then by rank, and records that alone', async () => {
      const { ask } = database.open()
      const answers: boolean[] = []
      for (const [second, rank] of [
        [5, 1],
        [5, 1],
        [5, 0],
        [4, 9],
        [5, 2],
        [6, -1],
        [5, 7],
      ] as const) {
        answers.push(...(await ask([{ subject: 'evt_1', at: at(second), rank }])))
      }
      expect(answers).toEqual([true, true, false, false, true, true, false])
      expect(await ask([{ subject: 'evt_2', at: new Date(at(1)) }])).toEqual([true])
      expect(await stored()).toEqual(['evt_1 06 -1', 'evt_2 01 0'])
    })

    test('is rolled back with what the handler wrote, also after a Discard', async () => {
      const { ask } = database.open()
      const change = { subject: 'evt_1', at: at(9) }
      const failing = ask([change], { ...RETAIN, key: 'failing' }, new Error('no'))
      await expect(failing).rejects.toThrow('no')
      expect(await ask([change], { ...RETAIN, key: 'discarded' }, new Discard())).toEqual([true])
      expect(await stored()).toEqual([])
      expect(await ask([{ subject: 'evt_1', at: at(1) }])).toEqual([true])
    })

    test('answers for a list in its order', async () => {
      const { ask } = database.open()
      await ask([{ subject: 'b', at: at(5) }])
      const list = ['c', 'b', 'a', 'B', 'a '].map((subject) => ({ subject, at: at(3) }))
      expect(await ask(list)).toEqual([true, false, true, true, true])
      expect(await ask([])).toEqual([])
      expect(await stored()).toEqual(['B 03 0', 'a 03 0', 'a  03 0', 'b 05 0', 'c 03 0'])
    })

    if (isFurtherClient) return

    test('agrees with a model: the greatest date and rank that were applied', async () => {
      const { ask } = database.open()
      const change = fc.record({
        subject: fc.constantFrom('a', 'b'),
        second: fc.nat(3),
        rank: fc.integer({ min: -1, max: 1 }),
        end: fc.constantFrom(undefined, undefined, new Error('rolled back')),
      })
      await fc.assert(
        fc.asyncProperty(fc.array(change, { maxLength: 12 }), async (changes) => {
          await database.query(`DELETE FROM ${TABLE}`)
          const model = new Map<string, number>()
          for (const { subject, second, rank, end } of changes) {
            const place = second * 10 + rank
            const expected = place >= (model.get(subject) ?? Number.NEGATIVE_INFINITY)
            const asked = ask([{ subject, at: at(second), rank }], RETAIN, end)
            if (end !== undefined) await expect(asked).rejects.toBe(end)
            else expect(await asked).toEqual([expected])
            if (expected && end === undefined) model.set(subject, place)
          }
        }),
        { numRuns: 15 },
      )
    })

    test('says which table is missing, and purge works without it, as before a migration', async () => {
      const { inbox, ask } = database.open()
      await database.query(`ALTER TABLE ${TABLE} RENAME TO away`)
      try {
        await expect(ask([{ subject: 's', at: at(1) }])).rejects.toMatchObject({
          code: 'store_unavailable',
          message: expect.stringMatching(`^The table .*${TABLE}. is missing: run inbox.migrate\\(\\)`),
        })
        expect(await inbox.purge()).toBe(0)
      } finally {
        await database.query(`ALTER TABLE away RENAME TO ${TABLE}`)
      }
    })

    test('is remembered as long as the longest retention of the inbox, at least 7 days, and no shorter afterwards', async () => {
      const days = async () =>
        (await database.rows(`SELECT ${database.daysLeft} FROM ${TABLE}`)).map(([value]) =>
          Math.round(Number(value)),
        )
      const inboxes = [database.open(), database.open(), database.open({ retentionSeconds: 90 * 86_400 })]
      const found: unknown[] = []
      for (const [i, retained] of [
        [0, 4],
        [0, 30],
        [0, 4],
        [1, 1],
        [2, 1],
        [2, 100],
      ] as const) {
        const request = { key: `${i} ${retained}`, retainMs: retained * DAY_MS }
        await inboxes[i]?.ask([{ subject: 's', at: at(1) }], request)
        await database.query('DELETE FROM tix_webhooks_inbox')
        found.push(...(await days()))
      }
      expect(found).toEqual([7, 30, 30, 30, 90, 100])
      await database.query(`DELETE FROM ${TABLE}`)
      // No shorter than what the inbox has seen, also for a new subject.
      await inboxes[0]?.ask([{ subject: 'new', at: at(1) }])
      expect(await days()).toEqual([30])
      // A replay of a failure may come as late.
      const joined = database.open()
      expect(joined.join()).toBeDefined()
      await joined.ask([{ subject: 'new', at: at(1) }])
      expect(await days()).toEqual([37])
    })

    test('is purged after the records, the oldest first, and no more than asked for in all', async () => {
      const { inbox, ask } = database.open()
      for (const key of ['k1', 'k2']) await ask([], { ...RETAIN, key })
      await database.query(`UPDATE tix_webhooks_inbox SET expires_at = ${database.ago(1)}`)
      await ask(['s0', 's1', 's2', 's3'].map((subject) => ({ subject, at: at(0) })))
      for (const [subject, hours] of [
        ['s0', 2],
        ['s1', 3],
        ['s2', 1],
      ] as const) {
        await database.query(
          `UPDATE ${TABLE} SET expires_at = ${database.ago(hours)} WHERE subject = '${subject}'`,
        )
      }
      expect(await inbox.purge({ limit: 2 })).toBe(2)
      expect([await records(), (await stored()).length]).toEqual([[0], 4])
      await ask([], { ...RETAIN, key: 'k3' })
      await database.query(`UPDATE tix_webhooks_inbox SET expires_at = ${database.ago(1)}`)
      expect(await inbox.purge({ limit: 2 })).toBe(2)
      expect(await stored()).toEqual(['s0 00 0', 's2 00 0', 's3 00 0'])
      expect([await inbox.purge(), await inbox.purge()]).toEqual([2, 0])
      expect(await stored()).toEqual(['s3 00 0'])
    })
  })
}
