import fc from 'fast-check'
import { type Change, Discard, type OnceRequest, type Purgeable } from 'tix-webhooks'
import { ddl as postgresDdl, postgresInbox } from 'tix-webhooks/postgres'
import { type SqliteTransaction, sqliteInbox } from 'tix-webhooks/sqlite'
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import {
  ARRIVALS,
  insist,
  listing,
  rankOf,
  STORY,
  type StoryEvent,
  storyEvent,
  TIES,
} from '../../support/listing-story.js'
import { onPostgres } from '../../support/on-servers.js'
import { INBOX_CLIENTS, openPg } from '../../support/postgres-clients.js'
import { testDatabase } from '../../support/postgres-database.js'
import { deferred } from '../../support/promises.js'
import { DRIVERS } from '../../support/sqlite-drivers.js'
import { openDatabase, type TestDatabase as SqliteDatabase } from '../../support/sqlite-open.js'
import { SERVERS } from './servers.js'

const DAY_MS = 86_400_000
const RETAIN = { key: null, retainMs: 7 * DAY_MS }
const EVENTS = 'tix_webhooks_events'
const TABLE = `${EVENTS}_newest`
/** A purge in the background would take rows that a test counts. */
const UNPURGED = { purgeEverySeconds: false } as const
const LISTING = 'CREATE TABLE listing (id VARCHAR(50) PRIMARY KEY, state VARCHAR(50))'
const hoursAgo = (hours: number): number => Date.now() - hours * 3_600_000
const at = (second: number): string => `2026-11-22T10:00:0${second}Z`

interface Opened {
  readonly inbox: Purgeable
  /** Asks `recordIfNewest` in a delivery of its own, whose handler then throws the error, if there is one. */
  ask(changes: readonly Change[], request?: OnceRequest, error?: Error): Promise<readonly boolean[]>
}

interface Database {
  open(options?: { readonly retentionSeconds?: number }): Opened
  query(sql: string): unknown
  /** The rows of a SELECT, each as its values. */
  rows(sql: string): Promise<unknown[][]>
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

const ON_SERVERS = SERVERS.flatMap(({ name, describe, clients, prepare }) =>
  clients.map((client, i) => ({
    name: `${name} over ${client}`,
    describe,
    isFurtherClient: i > 0,
    client,
    prepareServer: () => prepare(LISTING),
    prepare(): Database {
      const database = prepare()
      return {
        open(options) {
          const inbox = database.open(client).inbox({ ...UNPURGED, ...options })
          return {
            inbox,
            async ask(changes, request = RETAIN, error = undefined) {
              let answers: readonly boolean[] = []
              await inbox.once(request, async (tx) => {
                answers = await inbox.recordIfNewest(tx, changes)
                if (error !== undefined) throw error
              })
              return answers
            },
          }
        },
        query: database.query,
        rows: async (sql) => valuesOf(await database.query(sql)),
      }
    },
  })),
)

const SQLITE = DRIVERS.map(
  (driver): Backend => ({
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
          const inbox = sqliteInbox(db, { ...UNPURGED, ...options })
          return {
            inbox,
            async ask(changes, request = RETAIN, error = undefined) {
              let answers: readonly boolean[] = []
              await inbox.once(request, async (tx: SqliteTransaction<SqliteDatabase>) =>
                tx.commit((handed) => {
                  answers = inbox.recordIfNewest(handed, changes)
                  if (error !== undefined) throw error
                }),
              )
              return answers
            },
          }
        },
        query: (sql) => db.exec(sql),
        rows: async (sql) => valuesOf(db.prepare(sql).all() as object[]),
      }
    },
  }),
)

/** Empties the tables before each test, and returns how to read that of the changes. */
function emptied({ query, rows }: Pick<Database, 'query' | 'rows'>): () => Promise<string[]> {
  beforeEach(async () => {
    for (const table of [EVENTS, TABLE]) await query(`DELETE FROM ${table}`)
  })
  const all = `SELECT subject, changed_at, ${TABLE}.rank FROM ${TABLE} ORDER BY subject`
  return async () =>
    (await rows(all)).map(
      ([subject, changedAt, rank]) => `${subject} ${String(changedAt).slice(17, 19)} ${rank}`,
    )
}

for (const { name, describe, isFurtherClient, prepare } of [...ON_SERVERS, ...SQLITE]) {
  describe(`recordIfNewest of ${name}`, () => {
    const database = prepare()
    const records = async () =>
      (await database.rows(`SELECT count(*) FROM ${EVENTS}`)).map(([count]) => Number(count))
    const stored = emptied(database)

    test('answers for a list in its order', async () => {
      const { ask } = database.open()
      await ask([{ subject: 'b', at: new Date(at(5)) }])
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
        end: fc.constantFrom(undefined, undefined, new Error('rolled back'), new Discard('rolled back too')),
      })
      await fc.assert(
        fc.asyncProperty(fc.array(change, { maxLength: 12 }), async (changes) => {
          await database.query(`DELETE FROM ${TABLE}`)
          const model = new Map<string, number>()
          for (const { subject, second, rank, end } of changes) {
            const place = second * 10 + rank
            const expected = place >= (model.get(subject) ?? Number.NEGATIVE_INFINITY)
            const asked = ask([{ subject, at: at(second), rank }], RETAIN, end)
            if (end !== undefined && !(end instanceof Discard)) await expect(asked).rejects.toBe(end)
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

    test('is remembered for the longest retention of the inbox and 7 days more for a replay, and no shorter afterwards', async () => {
      const days = async () =>
        (await database.rows(`SELECT expires_at FROM ${TABLE}`)).map(([at]) =>
          Math.round((Number(at) - Date.now()) / DAY_MS),
        )
      const inboxes = [database.open(), database.open(), database.open({ retentionSeconds: 90 * 86_400 })]
      const found: unknown[] = []
      for (const [i, retained] of [
        [0, 4],
        [0, 40],
        [0, 4],
        [1, 1],
        [2, 1],
        [2, 100],
      ] as const) {
        const request = { key: `${i} ${retained}`, retainMs: retained * DAY_MS }
        await inboxes[i]?.ask([{ subject: 's', at: at(1) }], request)
        found.push(...(await days()))
      }
      expect(found).toEqual([37, 47, 47, 47, 97, 107])
      await database.query(`DELETE FROM ${TABLE}`)
      // No shorter than what the inbox has seen, also for a new subject.
      await inboxes[0]?.ask([{ subject: 'new', at: at(1) }])
      expect(await days()).toEqual([47])
    })

    test('is purged after the records, the oldest first, and no more than asked for in all', async () => {
      const { inbox, ask } = database.open()
      for (const key of ['k1', 'k2']) await ask([], { ...RETAIN, key })
      await database.query(`UPDATE ${EVENTS} SET expires_at = ${hoursAgo(1)}`)
      await ask(['s0', 's1', 's2', 's3'].map((subject) => ({ subject, at: at(0) })))
      for (const [subject, hours] of [
        ['s0', 2],
        ['s1', 3],
        ['s2', 1],
      ] as const) {
        await database.query(
          `UPDATE ${TABLE} SET expires_at = ${hoursAgo(hours)} WHERE subject = '${subject}'`,
        )
      }
      expect(await inbox.purge({ limit: 2 })).toBe(2)
      expect([await records(), (await stored()).length]).toEqual([[0], 4])
      await ask([], { ...RETAIN, key: 'k3' })
      await database.query(`UPDATE ${EVENTS} SET expires_at = ${hoursAgo(1)}`)
      expect(await inbox.purge({ limit: 2 })).toBe(2)
      expect(await stored()).toEqual(['s0 00 0', 's2 00 0', 's3 00 0'])
      expect([await inbox.purge(), await inbox.purge()]).toEqual([2, 0])
      expect(await stored()).toEqual(['s3 00 0'])
    })
  })
}

for (const { name, describe, isFurtherClient, client, prepareServer } of ON_SERVERS) {
  describe(`recordIfNewest of ${name}, in transactions at once,`, () => {
    const server = prepareServer()
    const rows = async (sql: string) => valuesOf(await server.query(sql))
    const stored = emptied({ query: server.query, rows })

    test('waits for a newer change that is not committed yet, and then knows it', async () => {
      const inbox = server.open(client).inbox()
      const [recorded, leave] = [deferred(), deferred()]
      const first = inbox.once({ ...RETAIN, key: 'newer' }, async (tx) => {
        await inbox.recordIfNewest(tx, { subject: 'evt_1', at: at(5) })
        recorded.resolve()
        await leave.promise
      })
      await recorded.promise
      let answer: unknown
      const late = inbox.once(RETAIN, async (tx) => {
        answer = await inbox.recordIfNewest(tx, { subject: 'evt_1', at: at(4) })
      })
      await server.untilWaiting(TABLE)
      leave.resolve()
      await Promise.all([first, late])
      expect(answer).toBe(false)
      expect(await stored()).toEqual(['evt_1 05 0'])
    })

    test('refuses with a TypeError what is not in the transaction of the inbox, or no change, and records nothing', async () => {
      const inbox = server.open(client).inbox()
      const change = { subject: 'evt_1', at: at(1) }
      let gone: unknown
      await inbox.once(RETAIN, async (tx) => {
        gone = tx
      })
      for (const tx of [undefined, {}]) {
        const asked = inbox.recordIfNewest(tx, change)
        await expect(asked).rejects.toThrow(TypeError)
        await expect(asked).rejects.toThrow(/^recordIfNewest was not called in the transaction of the inbox/)
      }
      await expect(inbox.recordIfNewest(gone, change)).rejects.toThrow(/is over|not called in/)
      await expect(inbox.recordIfNewest(gone, { subject: '', at: at(1) })).rejects.toThrow(/^subject must be/)
      await expect(inbox.recordIfNewest(gone, [{ subject: 's', at: 'soon' }])).rejects.toThrow(/^at must be/)
      expect(await stored()).toEqual([])
    })

    test('ends a story cancelled, whatever comes in between: many deliveries at once, some of which fail', async () => {
      const opened = server.open(client)
      const inbox = opened.inbox()
      const seen = new Set<string>()
      const { send } = listing(inbox, async (tx, { type, created_at, data }) => {
        const { id } = data.event
        // The first run of every second webhook.
        const fails = !seen.has(`${type} ${id}`) && seen.size % 2 === 0
        seen.add(`${type} ${id}`)
        if (await inbox.recordIfNewest(tx, { subject: id, at: created_at, rank: rankOf(type) })) {
          await opened.run(tx, `DELETE FROM listing WHERE id = '${id}'`)
          await opened.run(tx, `INSERT INTO listing VALUES ('${id}', '${type}')`)
        }
        if (fails) throw new Error('after it wrote')
      })
      const arrivals = ARRIVALS.filter((_, i) => i % 16 === 0)
      await Promise.all(
        arrivals.flatMap((arrival, i) => {
          const seconds = TIES[i % TIES.length] ?? []
          const events = STORY.map((type, step) => storyEvent(type, `evt_${i}`, seconds[step] ?? 0))
          return arrival.map((step) => insist(() => send(events[step] as StoryEvent)))
        }),
      )
      const states = await rows('SELECT state FROM listing')
      expect(states).toEqual(arrivals.map(() => ['event.cancelled']))
    })

    if (isFurtherClient) return

    test('of a user without rights to purge it does not keep the records from it, and is warned of once', async () => {
      const warnings = vi.spyOn(console, 'warn').mockImplementation(() => {})
      onTestFinished(() => warnings.mockRestore())
      const owner = server.open(client).inbox(UNPURGED)
      const inbox = (await server.openWithRights(client, [EVENTS])).inbox(UNPURGED)
      const expire = (table: string) => server.query(`UPDATE ${table} SET expires_at = 1`)
      const purgeOne = async (): Promise<number> => {
        await inbox.once({ ...RETAIN, key: 'k' }, async () => {})
        await expire(EVENTS)
        return inbox.purge()
      }
      await owner.once(
        RETAIN,
        async (tx) => void (await owner.recordIfNewest(tx, { subject: 's', at: at(1) })),
      )
      await expire(TABLE)
      expect([await purgeOne(), await purgeOne()]).toEqual([1, 1])
      expect(warnings.mock.calls).toEqual([
        [expect.stringMatching(`no rights on .*${TABLE}.: GRANT SELECT, UPDATE and DELETE on it`)],
      ])
      expect(await owner.purge()).toBe(1)
    })

    test('of a list does not deadlock with the reverse list, as one after the other does', async () => {
      const inbox = server.open(client, { connections: 8 }).inbox()
      const names = ['a', 'b', 'c', 'd']
      const ask = (changes: Change[]) =>
        inbox.once(RETAIN, async (tx) => void (await inbox.recordIfNewest(tx, changes)))
      const changesOf = (subjects: readonly string[], second: number): Change[] =>
        subjects.map((subject) => ({ subject, at: at(second) }))
      // MySQL locks the gaps of subjects that are not there yet.
      await ask(changesOf(names, 0))
      const asking = Array.from({ length: 40 }, (_, i) =>
        ask(changesOf(i % 2 === 0 ? names : [...names].reverse(), i % 7)),
      )
      expect(await Promise.all(asking)).toEqual(Array(40).fill({ status: 'handled' }))
      const both = [deferred(), deferred()] as const
      const crossing = ['a', 'b'].map((first, i) =>
        inbox.once(RETAIN, async (tx) => {
          await inbox.recordIfNewest(tx, { subject: first, at: at(8) })
          both[i]?.resolve()
          await both[1 - i]?.promise
          await inbox.recordIfNewest(tx, { subject: first === 'a' ? 'b' : 'a', at: at(8) })
        }),
      )
      const ends = await Promise.allSettled(crossing)
      const reasons = ends.flatMap((end) => (end.status === 'rejected' ? [String(end.reason.message)] : []))
      expect(reasons).toEqual([expect.stringMatching(/^(Two t|T)ransactions waited for each other/)])
    })
  })
}

onPostgres('recordIfNewest of postgresInbox', () => {
  const database = testDatabase(postgresDdl)
  const stored = emptied({
    query: database.query,
    rows: async (sql) => valuesOf(await database.query(sql)),
  })

  describe.each(INBOX_CLIENTS)('over $name', (library) => {
    test('is undone with a savepoint, and works in one', async () => {
      const client = library.open(database)
      const inbox = client.inbox()
      await inbox.once(RETAIN, async (tx) => {
        const undone = client.savepoint(tx, async (inner) => {
          await inbox.recordIfNewest(inner, { subject: 'evt_1', at: at(9) })
          throw new Error('undo')
        })
        await expect(undone).rejects.toThrow('undo')
        expect(await inbox.recordIfNewest(tx, { subject: 'evt_1', at: at(5) })).toBe(true)
      })
      expect(await stored()).toEqual(['evt_1 05 0'])
    })
  })

  test('is refused by the object within what as made, which the inbox does not know', async () => {
    const pool = openPg(database)
    const inbox = postgresInbox(pool, { as: (client) => ({ client }) })
    await inbox.once(RETAIN, async (tx) => {
      expect(await inbox.recordIfNewest(tx, { subject: 'evt_1', at: at(1) })).toBe(true)
      await expect(inbox.recordIfNewest(tx.client as never, { subject: 'evt_1', at: at(2) })).rejects.toThrow(
        /pass ctx.tx itself/,
      )
    })
  })
})
