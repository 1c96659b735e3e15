import fc from 'fast-check'
import type { Pool, PoolClient } from 'pg'
import { type Change, Discard, isWebhookError } from 'tix-webhooks'
import { ddl, type PostgresInbox, postgresInbox } from 'tix-webhooks/postgres'
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
import { INBOX_CLIENTS, type OpenClient, openPg, openPostgresJs } from '../../support/postgres-clients.js'
import { testDatabase } from '../../support/postgres-database.js'
import { deferred } from '../../support/promises.js'

const DAY_MS = 86_400_000
const RETAIN = { key: null, retainMs: 7 * DAY_MS }
const at = (second: number): string => `2026-11-22T10:00:0${second}Z`
const TABLE = 'tix_webhooks_inbox_newest'

onPostgres('isNewest', () => {
  const database = testDatabase(
    ddl,
    'CREATE TABLE listing (id text PRIMARY KEY, state text)',
    'CREATE TABLE notes (text text)',
  )
  const stored = (): Promise<unknown[]> =>
    database.column(
      `SELECT subject || ' ' || substr(changed_at, 18, 2) || ' ' || rank FROM ${TABLE} ORDER BY subject`,
    )

  beforeEach(() => database.query(`TRUNCATE listing, notes, tix_webhooks_inbox, ${TABLE}`))

  /** Asks in a transaction of its own, which is committed. */
  async function ask(inbox: ReturnType<OpenClient['inbox']>, change: Change): Promise<boolean> {
    let answer: boolean | undefined
    await inbox.once(RETAIN, async (tx) => {
      answer = await inbox.isNewest(tx, change)
    })
    return answer as boolean
  }

  describe.each(INBOX_CLIENTS)('over $name', (library) => {
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

    test('is rolled back with what the handler wrote, also after a Discard', async () => {
      const inbox = library.open(database).inbox()
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
      expect(await ask(inbox, { subject: 'evt_1', at: at(1) })).toBe(true)
    })

    test('is undone with a savepoint, and works in one', async () => {
      const client = library.open(database)
      const inbox = client.inbox()
      await inbox.once(RETAIN, async (tx) => {
        const undone = client.savepoint(tx, async (inner) => {
          await inbox.isNewest(inner, { subject: 'evt_1', at: at(9) })
          throw new Error('undo')
        })
        await expect(undone).rejects.toThrow('undo')
        expect(await inbox.isNewest(tx, { subject: 'evt_1', at: at(5) })).toBe(true)
      })
      expect(await stored()).toEqual(['evt_1 05 0'])
    })

    test('answers for a list in its order', async () => {
      const inbox = library.open(database).inbox()
      await ask(inbox, { subject: 'b', at: at(5) })
      await inbox.once(RETAIN, async (tx) => {
        const list = ['c', 'b', 'a'].map((subject) => ({ subject, at: at(3) }))
        expect(await inbox.isNewest(tx, list)).toEqual([true, false, true])
        expect(await inbox.isNewest(tx, [])).toEqual([])
      })
      expect(await stored()).toEqual(['a 03 0', 'b 05 0', 'c 03 0'])
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
      await waitingFor(1)
      leave.resolve()
      await first
      expect(await late).toBe(false)
      expect(await stored()).toEqual(['evt_1 05 0'])
    })

    test('refuses what is not in the transaction of the inbox with a TypeError, and records nothing', async () => {
      const client = library.open(database)
      const inbox = client.inbox()
      const message = /^isNewest was not called in the transaction of the inbox/
      const change = { subject: 'evt_1', at: at(1) }
      for (const tx of [undefined, {}]) {
        await expect(inbox.isNewest(tx, change)).rejects.toThrow(TypeError)
        await expect(inbox.isNewest(tx, change)).rejects.toThrow(message)
      }
      let gone: unknown
      await inbox.once(RETAIN, async (tx) => {
        gone = tx
      })
      await expect(inbox.isNewest(gone, change)).rejects.toThrow(/transaction of this delivery is over/)
      expect(await stored()).toEqual([])
    })

    test('refuses a change that is none with a TypeError, before it asks Postgres', async () => {
      const inbox = library.open(database).inbox()
      const tx = 'not used' as never
      await expect(inbox.isNewest(tx, { subject: '', at: at(1) })).rejects.toThrow(/^subject must be/)
      await expect(inbox.isNewest(tx, { subject: 's', at: 'soon' })).rejects.toThrow(/^at must be/)
      await expect(inbox.isNewest(tx, [{ subject: 's', at: Number.NaN as never }])).rejects.toThrow(TypeError)
    })

    test('ends the story cancelled, whatever comes in between: many deliveries at once, some of which fail', async () => {
      const client = library.open(database)
      const { send } = app(client, (event) => isUnlucky(event))
      const isUnlucky = unlucky()
      const told = ARRIVALS.filter((_, i) => i % 9 === 0)
      await Promise.all(
        told.flatMap((arrival, i) => tell(send, arrival, TIES[i % 4] ?? [0, 1, 2], `evt_${i}`)),
      )
      expect(await states()).toEqual({ 'event.cancelled': told.length })
    })
  })

  /** A listing that shows what the newest webhook of each event says. */
  function app(client: OpenClient, failsOn: (event: StoryEvent) => boolean = () => false) {
    const inbox = client.inbox()
    return listing(inbox, async (tx, event) => {
      const { id } = event.data.event
      const isNewest = await inbox.isNewest(tx, {
        subject: id,
        at: event.created_at,
        rank: rankOf(event.type),
      })
      if (isNewest) {
        await client.run(
          tx,
          `INSERT INTO listing VALUES ('${id}', '${event.type}') ON CONFLICT (id) DO UPDATE SET state = excluded.state`,
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

  async function states(): Promise<Record<string, number>> {
    const rows = await database.query('SELECT state, count(*)::int AS n FROM listing GROUP BY state')
    return Object.fromEntries(rows.map(({ state, n }) => [state, n as number]))
  }

  async function waitingFor(count: number): Promise<void> {
    const waiting = `SELECT count(*)::int FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%${TABLE}%'
      AND pid IN (SELECT pid FROM pg_locks WHERE relation = '${database.schema}.${TABLE}'::regclass)`
    while ((await database.column(waiting))[0] !== count);
  }

  test('ends the story cancelled in each order of arrival, each copy twice, with each tie', async () => {
    const library = INBOX_CLIENTS[0] as (typeof INBOX_CLIENTS)[number]
    const { send } = app(library.open(database))
    const stories = TIES.flatMap((seconds) => ARRIVALS.map((arrival) => ({ seconds, arrival })))
    // One webhook of a story after the other, and the stories at the same time.
    await Promise.all(
      stories.map(async ({ seconds, arrival }, i) => {
        const events = STORY.map((type, step) => storyEvent(type, `evt_${i}`, seconds[step] ?? 0))
        for (const step of arrival) await insist(() => send(events[step] as StoryEvent))
      }),
    )
    expect(await states()).toEqual({ 'event.cancelled': 360 })
  })

  test('agrees with a model: the greatest date and rank that were applied', async () => {
    const inbox = postgresInbox(openPg(database))
    const change = fc.record({
      subject: fc.constantFrom('a', 'b'),
      second: fc.nat(3),
      rank: fc.integer({ min: -1, max: 1 }),
      end: fc.constantFrom('commit', 'commit', 'fail'),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(change, { maxLength: 12 }), async (changes) => {
        await database.query(`TRUNCATE ${TABLE}`)
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
      { numRuns: 25 },
    )
  })

  test('of a list does not deadlock with the reverse list, as one after the other does', async () => {
    const inbox = postgresInbox(openPg(database, { max: 8 }))
    const names = ['a', 'b', 'c', 'd']
    const changesOf = (subjects: readonly string[], second: number): Change[] =>
      subjects.map((subject) => ({ subject, at: at(second) }))
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
    expect(reasons).toEqual([expect.stringMatching(/^Two transactions waited for each other/)])
  })

  test.each([
    ['a pool of pg', () => openPg(database)],
    ['the sql of postgres.js', () => openPostgresJs(database)],
  ])('refuses %s instead of ctx.tx: its record would be committed by itself', async (_, open) => {
    const pool = open()
    const inbox = postgresInbox(pool as Pool)
    await expect(inbox.isNewest(pool as never, { subject: 'evt_1', at: at(1) })).rejects.toThrow(
      /^isNewest was not called in the transaction of the inbox/,
    )
    expect(await stored()).toEqual([])
  })

  test('is refused by the object within what as made, which the inbox does not know', async () => {
    const pool = openPg(database)
    const inbox = postgresInbox(pool, { as: (client) => ({ client }) })
    await inbox.once(RETAIN, async (tx) => {
      expect(await inbox.isNewest(tx, { subject: 'evt_1', at: at(1) })).toBe(true)
      await expect(inbox.isNewest(tx.client as never, { subject: 'evt_1', at: at(2) })).rejects.toThrow(
        /pass ctx.tx itself/,
      )
    })
  })

  test('says which table is missing, and purge works without it, as before a migration', async () => {
    const inbox = postgresInbox(openPg(database))
    await database.query(`ALTER TABLE ${TABLE} RENAME TO away`)
    try {
      const error: unknown = await ask(inbox as never, { subject: 's', at: at(1) }).catch((e: unknown) => e)
      expect(isWebhookError(error) && [error.code, error.message]).toEqual([
        'store_unavailable',
        expect.stringContaining(`The table "${database.schema}"."${TABLE}" is missing: run inbox.migrate()`),
      ])
      expect(await inbox.purge()).toBe(0)
    } finally {
      await database.query(`ALTER TABLE away RENAME TO ${TABLE}`)
    }
  })

  test('is remembered as long as the longest retention of the inbox, at least 7 days, and no shorter afterwards', async () => {
    const days = async (): Promise<unknown> =>
      (
        await database.column(
          `SELECT round(extract(epoch FROM expires_at - now()) / 86400)::int FROM ${TABLE}`,
        )
      )[0]
    const pool = openPg(database)
    const change = { subject: 's', at: at(1) }
    const inbox = postgresInbox(pool)
    await inbox.once(
      { key: 'a', retainMs: 4 * DAY_MS },
      async (tx) => void (await inbox.isNewest(tx, change)),
    )
    expect(await days()).toBe(7)
    await inbox.once(
      { key: 'b', retainMs: 30 * DAY_MS },
      async (tx) => void (await inbox.isNewest(tx, change)),
    )
    expect(await days()).toBe(30)
    const other = postgresInbox(pool)
    await other.once({ key: 'c', retainMs: DAY_MS }, async (tx) => void (await other.isNewest(tx, change)))
    expect(await days()).toBe(30)
  })

  test('is remembered for retentionSeconds in a process that has had no delivery', async () => {
    const pool = openPg(database)
    const inbox = postgresInbox(pool, { retentionSeconds: 90 * 86_400 })
    const client = await pool.connect()
    await client.query('BEGIN; CREATE TEMPORARY TABLE written ON COMMIT DROP AS SELECT 1')
    expect(await inbox.isNewest(client, { subject: 'put back', at: at(1) })).toBe(true)
    await client.query('COMMIT')
    client.release()
    const kept = await database.column(
      `SELECT expires_at > now() + interval '89 days' FROM ${TABLE} WHERE subject = 'put back'`,
    )
    expect(kept).toEqual([true])
  })

  test('that cannot be purged does not keep the records from being purged', async () => {
    const inbox = postgresInbox(openPg(database))
    await database.query(
      `INSERT INTO tix_webhooks_inbox (key, expires_at) VALUES ('expired', now() - interval '1 h')`,
    )
    await database.query(`ALTER TABLE ${TABLE} RENAME COLUMN expires_at TO away`)
    try {
      await expect(inbox.purge()).rejects.toThrow(/is of another version, or not ours/)
      expect(await database.column('SELECT key FROM tix_webhooks_inbox')).toEqual([])
    } finally {
      await database.query(`ALTER TABLE ${TABLE} RENAME COLUMN away TO expires_at`)
    }
  })

  test('of a user without rights to purge it does not keep the records from it, and is warned of once', async () => {
    const warnings = vi.spyOn(console, 'warn').mockImplementation(() => {})
    onTestFinished(() => warnings.mockRestore())
    // A built-in role, which this user may become.
    await database.query(
      `GRANT USAGE ON SCHEMA ${database.schema} TO pg_monitor; GRANT ALL ON tix_webhooks_inbox TO pg_monitor`,
    )
    const [owner, inbox] = [{}, { role: 'pg_monitor' }].map((settings) =>
      postgresInbox(openPg(database, { settings })),
    ) as [PostgresInbox<PoolClient>, PostgresInbox<PoolClient>]
    const expire = (table: string) =>
      database.query(`UPDATE ${table} SET expires_at = now() - interval '1 h'`)
    const purgeOne = async (): Promise<number> => {
      await inbox.once({ ...RETAIN, key: 'k' }, async () => {})
      await expire('tix_webhooks_inbox')
      return inbox.purge()
    }
    // Nobody uses isNewest.
    expect(await purgeOne()).toBe(1)
    expect(warnings).not.toHaveBeenCalled()

    await owner.once(RETAIN, async (tx) => void (await owner.isNewest(tx, { subject: 's', at: at(1) })))
    await expire(TABLE)
    expect([await purgeOne(), await purgeOne()]).toEqual([1, 1])
    const name = `"${database.schema}"."${TABLE}"`
    expect(warnings.mock.calls).toEqual([
      [expect.stringContaining(`no rights on ${name}: GRANT SELECT, UPDATE and DELETE on it`)],
    ])
    await database.query(`GRANT SELECT, UPDATE, DELETE ON ${TABLE} TO pg_monitor`)
    expect(await purgeOne()).toBe(2)
  })

  test('is purged after the records, the oldest first, and no more than asked for in all', async () => {
    const inbox = postgresInbox(openPg(database))
    await database.query(
      `INSERT INTO tix_webhooks_inbox (key, expires_at) SELECT 'k' || n, now() - interval '1 h' FROM generate_series(1, 3) AS n`,
    )
    await database.query(
      `INSERT INTO ${TABLE} SELECT 's' || n, '${at(0)}', 0, now() + (n - 3) * interval '1 h' FROM generate_series(0, 4) AS n`,
    )
    expect(await inbox.purge({ limit: 3 })).toBe(3)
    expect(await stored()).toHaveLength(5)
    expect(await inbox.purge({ limit: 2 })).toBe(2)
    expect(await stored()).toEqual(['s2 00 0', 's3 00 0', 's4 00 0'])
    expect([await inbox.purge(), await inbox.purge()]).toEqual([2, 0])
    expect(await stored()).toEqual(['s4 00 0'])
  })
})
