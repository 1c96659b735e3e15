import type { Change } from 'tix-webhooks'
import { type MysqlInbox, ddl as mysqlDdl } from 'tix-webhooks/mysql'
import { type PostgresInbox, ddl as postgresDdl } from 'tix-webhooks/postgres'
import { beforeEach, expect, test } from 'vitest'
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
import { MYSQL_INBOX_CLIENTS } from '../../support/mysql-clients.js'
import { testMysqlDatabase } from '../../support/mysql-database.js'
import { onMysql, onPostgres } from '../../support/on-servers.js'
import { INBOX_CLIENTS } from '../../support/postgres-clients.js'
import { testDatabase } from '../../support/postgres-database.js'
import { deferred } from '../../support/promises.js'
import { untilWaiting } from '../mysql/pools.js'

const RETAIN = { key: null, retainMs: 7 * 86_400_000 }
const TABLE = 'tix_webhooks_inbox_newest'
const at = (second: number): string => `2026-11-22T10:00:0${second}Z`

interface Opened {
  inbox(): PostgresInbox<unknown> | MysqlInbox<unknown>
  /** Runs a statement as a handler does, through its `ctx.tx`. */
  run(tx: unknown, statement: string): Promise<unknown>
}

interface Server {
  query(sql: string): Promise<Record<string, unknown>[]>
  open(connections?: number): Opened
  /** Resolves when a call of `isNewest` waits for another transaction. */
  untilWaiting(): Promise<void>
}

const LISTING = 'CREATE TABLE listing (id VARCHAR(50) PRIMARY KEY, state VARCHAR(50))'

const BACKENDS = [
  ...INBOX_CLIENTS.map((library, i) => ({
    name: `postgresInbox over ${library.name}`,
    describe: onPostgres,
    isFirstClient: i === 0,
    prepare(): Server {
      const database = testDatabase(postgresDdl, LISTING)
      const waiting = `SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%${TABLE}%'
        AND pid IN (SELECT pid FROM pg_locks WHERE relation = '${database.schema}.${TABLE}'::regclass)`
      return {
        query: (sql) => database.query(sql),
        open: (max = 4) => library.open(database, { max }),
        async untilWaiting() {
          while ((await database.query(waiting)).length === 0);
        },
      }
    },
  })),
  ...MYSQL_INBOX_CLIENTS.map((library, i) => ({
    name: `mysqlInbox over ${library.name}`,
    describe: onMysql,
    isFirstClient: i === 0,
    prepare(): Server {
      const database = testMysqlDatabase(mysqlDdl, LISTING)
      return {
        query: (sql) => database.query(sql),
        open: (connectionLimit = 4) => library.open(database, { connectionLimit }),
        untilWaiting: () => untilWaiting(database, `INSERT INTO \`${database.name}\`.\`${TABLE}\``),
      }
    },
  })),
]

for (const { name, describe, isFirstClient, prepare } of BACKENDS) {
  describe(`isNewest of ${name}`, () => {
    const server = prepare()
    const stored = async () =>
      (await server.query(`SELECT subject, changed_at FROM ${TABLE} ORDER BY subject`)).map(
        ({ subject, changed_at }) => `${subject} ${String(changed_at).slice(17, 19)}`,
      )

    beforeEach(async () => {
      for (const table of ['tix_webhooks_inbox', TABLE]) await server.query(`DELETE FROM ${table}`)
    })

    test('waits for a newer change that is not committed yet, and then knows it', async () => {
      const inbox = server.open().inbox()
      const [recorded, leave] = [deferred(), deferred()]
      const first = inbox.once({ ...RETAIN, key: 'newer' }, async (tx) => {
        await inbox.isNewest(tx, { subject: 'evt_1', at: at(5) })
        recorded.resolve()
        await leave.promise
      })
      await recorded.promise
      let answer: unknown
      const late = inbox.once(RETAIN, async (tx) => {
        answer = await inbox.isNewest(tx, { subject: 'evt_1', at: at(4) })
      })
      await server.untilWaiting()
      leave.resolve()
      await Promise.all([first, late])
      expect(answer).toBe(false)
      expect(await stored()).toEqual(['evt_1 05'])
    })

    test('refuses with a TypeError what is not in the transaction of the inbox, or no change, and records nothing', async () => {
      const inbox = server.open().inbox()
      const change = { subject: 'evt_1', at: at(1) }
      let gone: unknown
      await inbox.once(RETAIN, async (tx) => {
        gone = tx
      })
      for (const tx of [undefined, {}]) {
        const asked = inbox.isNewest(tx, change)
        await expect(asked).rejects.toThrow(TypeError)
        await expect(asked).rejects.toThrow(/^isNewest was not called in the transaction of the inbox/)
      }
      await expect(inbox.isNewest(gone, change)).rejects.toThrow(/is over|not called in the transaction/)
      await expect(inbox.isNewest(gone, { subject: '', at: at(1) })).rejects.toThrow(/^subject must be/)
      await expect(inbox.isNewest(gone, [{ subject: 's', at: 'soon' }])).rejects.toThrow(/^at must be/)
      expect(await stored()).toEqual([])
    })

    test('ends a story cancelled, whatever comes in between: many deliveries at once, some of which fail', async () => {
      const client = server.open()
      const inbox = client.inbox()
      const seen = new Set<string>()
      const { send } = listing(inbox, async (tx, { type, created_at, data }) => {
        const { id } = data.event
        // The first run of every second webhook.
        const fails = !seen.has(`${type} ${id}`) && seen.size % 2 === 0
        seen.add(`${type} ${id}`)
        if (await inbox.isNewest(tx, { subject: id, at: created_at, rank: rankOf(type) })) {
          await client.run(tx, `DELETE FROM listing WHERE id = '${id}'`)
          await client.run(tx, `INSERT INTO listing VALUES ('${id}', '${type}')`)
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
      const states = await server.query('SELECT state FROM listing')
      expect(states).toEqual(arrivals.map(() => ({ state: 'event.cancelled' })))
    })

    if (!isFirstClient) return

    test('of a list does not deadlock with the reverse list, as one after the other does', async () => {
      const inbox = server.open(8).inbox()
      const names = ['a', 'b', 'c', 'd']
      const ask = (changes: Change[]) =>
        inbox.once(RETAIN, async (tx) => void (await inbox.isNewest(tx, changes)))
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
          await inbox.isNewest(tx, { subject: first, at: at(8) })
          both[i]?.resolve()
          await both[1 - i]?.promise
          await inbox.isNewest(tx, { subject: first === 'a' ? 'b' : 'a', at: at(8) })
        }),
      )
      const ends = await Promise.allSettled(crossing)
      const reasons = ends.flatMap((end) => (end.status === 'rejected' ? [String(end.reason.message)] : []))
      expect(reasons).toEqual([expect.stringMatching(/^(Two t|T)ransactions waited for each other/)])
    })
  })
}
