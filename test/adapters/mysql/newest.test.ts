import fc from 'fast-check'
import { type Change, Discard } from 'tix-webhooks'
import { ddl, type MysqlInbox, mysqlInbox } from 'tix-webhooks/mysql'
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
import { MYSQL_INBOX_CLIENTS, type OpenMysqlClient } from '../../support/mysql-clients.js'
import { testMysqlDatabase } from '../../support/mysql-database.js'
import { onMysql } from '../../support/on-servers.js'
import { deferred } from '../../support/promises.js'
import { MYSQL2, POOLS, untilWaiting } from './pools.js'

const DAY_MS = 86_400_000
const RETAIN = { key: null, retainMs: 7 * DAY_MS }
const at = (second: number): string => `2026-11-22T10:00:0${second}Z`
const TABLE = 'tix_webhooks_inbox_newest'

onMysql('isNewest', () => {
  const database = testMysqlDatabase(
    'CREATE TABLE listing (id VARCHAR(50) PRIMARY KEY, state VARCHAR(50))',
    ...ddl.split(';\n').filter((statement) => statement.trim() !== ''),
  )
  const stored = (): Promise<unknown[]> =>
    database.column(
      `SELECT CONCAT(CAST(subject AS CHAR), ' ', SUBSTR(CAST(changed_at AS CHAR), 18, 2), ' ', \`rank\`) FROM ${TABLE} ORDER BY subject`,
    )

  beforeEach(async () => {
    for (const table of ['listing', 'tix_webhooks_inbox', TABLE]) await database.query(`DELETE FROM ${table}`)
  })

  /** Asks in a transaction of its own, which is committed. */
  async function ask<Tx>(inbox: MysqlInbox<Tx>, change: Change): Promise<boolean> {
    let answer: boolean | undefined
    await inbox.once(RETAIN, async (tx) => {
      answer = await inbox.isNewest(tx, change)
    })
    return answer as boolean
  }

  describe.each(MYSQL_INBOX_CLIENTS)('over $name', (library) => {
    test('is true of what is newer or as new, by date and then by rank, and records that alone', async () => {
      const inbox = library.open(database).inbox()
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
        answers.push(await ask(inbox, { subject: 'evt_1', at: at(second), rank }))
      }
      expect(answers).toEqual([true, true, false, false, true, true, false])
      expect(await ask(inbox, { subject: 'evt_2', at: new Date(at(1)) })).toBe(true)
      expect(await stored()).toEqual(['evt_1 06 -1', 'evt_2 01 0'])
    })

    test('is rolled back with what the handler wrote, also after a Discard, and undone with a savepoint', async () => {
      const client = library.open(database)
      const inbox = client.inbox()
      for (const [key, error] of [
        ['failing', new Error('no')],
        ['discarded', new Discard()],
      ] as const) {
        const once = inbox.once({ ...RETAIN, key }, async (tx) => {
          expect(await inbox.isNewest(tx, { subject: 'evt_1', at: at(9) })).toBe(true)
          throw error
        })
        await once.catch((thrown: unknown) => expect(thrown).toBe(error))
      }
      expect(await stored()).toEqual([])
      await inbox.once(RETAIN, async (tx) => {
        await client.run(tx, 'SAVEPOINT mine')
        expect(await inbox.isNewest(tx, { subject: 'evt_1', at: at(9) })).toBe(true)
        await client.run(tx, 'ROLLBACK TO SAVEPOINT mine')
        expect(await inbox.isNewest(tx, { subject: 'evt_1', at: at(5) })).toBe(true)
      })
      expect(await stored()).toEqual(['evt_1 05 0'])
    })

    test('answers for a list in its order', async () => {
      const inbox = library.open(database).inbox()
      await ask(inbox, { subject: 'b', at: at(5) })
      await inbox.once(RETAIN, async (tx) => {
        const list = ['c', 'b', 'a', 'B', 'a '].map((subject) => ({ subject, at: at(3) }))
        expect(await inbox.isNewest(tx, list)).toEqual([true, false, true, true, true])
        expect(await inbox.isNewest(tx, [])).toEqual([])
      })
      expect(await stored()).toEqual(['B 03 0', 'a 03 0', 'a  03 0', 'b 05 0', 'c 03 0'])
    })

    test('waits for a newer change that is not committed yet, and then knows it', async () => {
      const inbox = library.open(database).inbox()
      const [recorded, leave] = [deferred(), deferred()]
      const first = inbox.once({ ...RETAIN, key: 'newer' }, async (tx) => {
        await inbox.isNewest(tx, { subject: 'evt_1', at: at(5) })
        recorded.resolve()
        await leave.promise
      })
      await recorded.promise
      const late = ask(inbox, { subject: 'evt_1', at: at(4) })
      await untilWaiting(database, `INSERT INTO \`${database.name}\`.\`${TABLE}\``)
      leave.resolve()
      await first
      expect(await late).toBe(false)
      expect(await stored()).toEqual(['evt_1 05 0'])
    })

    test('knows of a newer change that was committed after the handler first read', async () => {
      const client = library.open(database)
      const inbox = client.inbox()
      await ask(inbox, { subject: 'evt_1', at: at(3) })
      await inbox.once(RETAIN, async (tx) => {
        // The snapshot of REPEATABLE READ, the default, is of now.
        await client.run(tx, `SELECT COUNT(*) FROM ${TABLE}`)
        await ask(inbox, { subject: 'evt_1', at: at(6) })
        await ask(inbox, { subject: 'evt_2', at: at(6) })
        const list = ['evt_1', 'evt_2', 'evt_3'].map((subject) => ({ subject, at: at(5) }))
        expect(await inbox.isNewest(tx, list)).toEqual([false, false, true])
        expect(await inbox.isNewest(tx, { subject: 'evt_1', at: at(7) })).toBe(true)
      })
      expect(await stored()).toEqual(['evt_1 07 0', 'evt_2 06 0', 'evt_3 05 0'])
    })

    test('refuses what is not in the transaction of the inbox with a TypeError, and records nothing', async () => {
      const inbox = library.open(database).inbox()
      const change = { subject: 'evt_1', at: at(1) }
      for (const tx of [undefined, {}]) {
        await expect(inbox.isNewest(tx, change)).rejects.toThrow(TypeError)
        await expect(inbox.isNewest(tx, change)).rejects.toThrow(
          /^isNewest was not called in the transaction of the inbox/,
        )
      }
      let gone: unknown
      await inbox.once(RETAIN, async (tx) => {
        gone = tx
      })
      await expect(inbox.isNewest(gone, change)).rejects.toThrow(
        /transaction of this delivery is over|not called in the transaction/,
      )
      await expect(inbox.isNewest('not used', { subject: '', at: at(1) })).rejects.toThrow(/^subject must be/)
      await expect(inbox.isNewest('not used', { subject: 's', at: 'soon' })).rejects.toThrow(/^at must be/)
      expect(await stored()).toEqual([])
    })

    test('ends the story cancelled, whatever comes in between: many deliveries at once, some of which fail', async () => {
      const client = library.open(database)
      const { send } = app(client, unlucky())
      const told = ARRIVALS.filter((_, i) => i % 16 === 0)
      await Promise.all(
        told.flatMap((arrival, i) => tell(send, arrival, TIES[i % 4] ?? [0, 1, 2], `evt_${i}`)),
      )
      expect(await database.query('SELECT state, COUNT(*) AS n FROM listing GROUP BY state')).toEqual([
        { state: 'event.cancelled', n: told.length },
      ])
    })
  })

  /** A listing that shows what the newest webhook of each event says. */
  function app(client: OpenMysqlClient, failsOn: (event: StoryEvent) => boolean) {
    const inbox = client.inbox()
    return listing(inbox, async (tx, event) => {
      const { id } = event.data.event
      const change = { subject: id, at: event.created_at, rank: rankOf(event.type) }
      if (await inbox.isNewest(tx, change)) {
        await client.run(
          tx,
          `INSERT INTO listing VALUES ('${id}', '${event.type}') ON DUPLICATE KEY UPDATE state = VALUES(state)`,
        )
      }
      if (failsOn(event)) throw new Error('after it wrote')
    })
  }

  /** Fails at the first run of every second webhook. */
  function unlucky(): (event: StoryEvent) => boolean {
    const seen = new Set<string>()
    return (event) => {
      const key = `${event.type} ${event.data.event.id}`
      const isFirst = !seen.has(key)
      seen.add(key)
      return isFirst && seen.size % 2 === 0
    }
  }

  /** Sends the six copies at once. */
  function tell(
    send: (event: StoryEvent) => Promise<string>,
    arrival: readonly number[],
    seconds: readonly [number, number, number],
    subject: string,
  ): Promise<void>[] {
    const events = STORY.map((type, i) => storyEvent(type, subject, seconds[i] ?? 0))
    return arrival.map((step) => insist(() => send(events[step] as StoryEvent)))
  }

  test('agrees with a model: the greatest date and rank that were applied', async () => {
    const inbox = mysqlInbox(MYSQL2.open(database))
    const change = fc.record({
      subject: fc.constantFrom('a', 'b'),
      second: fc.nat(3),
      rank: fc.integer({ min: -1, max: 1 }),
      end: fc.constantFrom('commit', 'commit', 'fail'),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(change, { maxLength: 12 }), async (changes) => {
        await database.query(`DELETE FROM ${TABLE}`)
        const model = new Map<string, number>()
        for (const { subject, second, rank, end } of changes) {
          const place = second * 10 + rank
          const expected = place >= (model.get(subject) ?? Number.NEGATIVE_INFINITY)
          let answer: boolean | undefined
          await inbox
            .once(RETAIN, async (tx) => {
              answer = await inbox.isNewest(tx, { subject, at: at(second), rank })
              if (end === 'fail') throw new Error('rolled back')
            })
            .catch(() => {})
          expect(answer).toBe(expected)
          if (expected && end === 'commit') model.set(subject, place)
        }
      }),
      { numRuns: 15 },
    )
  })

  test('of a list does not deadlock with the reverse list once the subjects are there, as one after the other does', async () => {
    const inbox = mysqlInbox(MYSQL2.open(database, { connectionLimit: 8 }))
    const names = ['a', 'b', 'c', 'd']
    const changesOf = (subjects: readonly string[], second: number): Change[] =>
      subjects.map((subject) => ({ subject, at: at(second) }))
    await inbox.once(RETAIN, async (tx) => void (await inbox.isNewest(tx, changesOf(names, 0))))
    const asking = Array.from({ length: 40 }, (_, i) =>
      inbox.once(RETAIN, async (tx) => {
        await inbox.isNewest(tx, changesOf(i % 2 === 0 ? names : [...names].reverse(), i % 7))
      }),
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
    expect(reasons).toEqual([expect.stringMatching(/^Transactions waited for each other/)])
  })

  test.each(POOLS)(
    'refuses a pool of $name instead of ctx.tx, and what is within what as made',
    async ({ open }) => {
      const pool = open(database)
      const inbox = mysqlInbox(pool, { as: (connection) => ({ connection }) })
      await expect(inbox.isNewest(pool as never, { subject: 'evt_1', at: at(1) })).rejects.toThrow(
        /^isNewest was not called in the transaction of the inbox/,
      )
      await inbox.once(RETAIN, async (tx) => {
        expect(await inbox.isNewest(tx, { subject: 'evt_1', at: at(1) })).toBe(true)
        await expect(inbox.isNewest(tx.connection as never, { subject: 'evt_1', at: at(2) })).rejects.toThrow(
          /pass ctx.tx itself/,
        )
      })
      expect(await stored()).toEqual(['evt_1 01 0'])
    },
  )

  test('says which table is missing, and purge works without it, as before a migration', async () => {
    const inbox = mysqlInbox(MYSQL2.open(database))
    await database.query(`ALTER TABLE ${TABLE} RENAME TO away`)
    try {
      await expect(ask(inbox, { subject: 's', at: at(1) })).rejects.toMatchObject({
        code: 'store_unavailable',
        message: expect.stringContaining(
          `The table \`${database.name}\`.\`${TABLE}\` is missing: run inbox.migrate()`,
        ),
      })
      expect(await inbox.purge()).toBe(0)
      await inbox.check()
    } finally {
      await database.query(`ALTER TABLE away RENAME TO ${TABLE}`)
    }
  })

  test('purge without rights on its table deletes records alone, and warns once', async () => {
    const user = `u${database.name.slice(4)}`
    await database.query(`CREATE USER ${user} IDENTIFIED BY 'hunter2'`)
    onTestFinished(async () => void (await database.query(`DROP USER ${user}`)))
    for (const table of ['tix_webhooks_inbox', 'tix_webhooks_inbox_locks']) {
      await database.query(`GRANT SELECT, INSERT, UPDATE, DELETE ON ${table} TO ${user}`)
    }
    const warnings = vi.spyOn(console, 'warn').mockImplementation(() => {})
    onTestFinished(() => warnings.mockRestore())
    const url = new URL(database.url)
    url.username = user
    url.password = 'hunter2'
    const inbox = mysqlInbox(MYSQL2.open({ url: url.href }))
    await inbox.once({ key: 'k', retainMs: 1 }, async () => {})
    while ((await inbox.purge()) === 0);
    await inbox.purge()
    expect(warnings.mock.calls).toEqual([
      [expect.stringMatching(/^tix-webhooks: the changes of isNewest past their retention are not deleted/)],
    ])
  })

  test('is remembered as long as the longest retention of the inbox, at least 7 days, and no shorter afterwards', async () => {
    const days = async (): Promise<unknown> =>
      (
        await database.column(
          `SELECT ROUND(TIMESTAMPDIFF(SECOND, UTC_TIMESTAMP(), expires_at) / 86400) * 1 FROM ${TABLE}`,
        )
      ).map(Number)[0]
    const pool = MYSQL2.open(database)
    const apply = (inbox: MysqlInbox<unknown>, key: string, retainMs: number) =>
      inbox.once(
        { key, retainMs },
        async (tx) => void (await inbox.isNewest(tx, { subject: 's', at: at(1) })),
      )
    const inbox = mysqlInbox(pool) as MysqlInbox<unknown>
    await apply(inbox, 'a', 4 * DAY_MS)
    expect(await days()).toBe(7)
    await apply(inbox, 'b', 30 * DAY_MS)
    expect(await days()).toBe(30)
    await apply(mysqlInbox(pool) as MysqlInbox<unknown>, 'c', DAY_MS)
    expect(await days()).toBe(30)
    await apply(mysqlInbox(pool, { retentionSeconds: 90 * 86_400 }) as MysqlInbox<unknown>, 'd', DAY_MS)
    expect(await days()).toBe(90)
  })
})
