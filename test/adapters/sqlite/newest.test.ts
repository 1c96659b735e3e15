import fc from 'fast-check'
import { type Change, Discard, isWebhookError } from 'tix-webhooks'
import { sqliteInbox } from 'tix-webhooks/sqlite'
import { expect, test } from 'vitest'
import { ARRIVALS, insist, STORY, type StoryEvent, storyEvent, TIES } from '../../support/listing-story.js'
import { raceChildren, useChildren } from '../../support/sqlite-children.js'
import { DAY, HOUR, testClock } from '../../support/sqlite-claims.js'
import { onEachDriver } from '../../support/sqlite-drivers.js'
import { sqliteListing } from '../../support/sqlite-listing.js'
import { openDatabase, type TestDatabase, valuesOf } from '../../support/sqlite-open.js'

const { start } = useChildren()
const RETAIN = { key: null, retainMs: 7 * DAY }
const TABLE = 'tix_webhooks_inbox_newest'
const at = (second: number): string => `2026-11-22T10:00:0${second}Z`
const stored = (db: TestDatabase): unknown[] =>
  valuesOf(
    db,
    `SELECT subject || ' ' || substr(changed_at, 18, 2) || ' ' || rank FROM ${TABLE} ORDER BY subject`,
  )

onEachDriver('isNewest', ({ open, driver, path }) => {
  async function opened(options: object = {}) {
    const db = open()
    const inbox = sqliteInbox(db, options)
    await inbox.migrate()
    /** Asks in a transaction of its own, which is committed. */
    async function ask(change: Change, retainMs = 7 * DAY): Promise<boolean> {
      let answer: boolean | undefined
      await inbox.once({ key: null, retainMs }, async (tx) => {
        answer = tx.commit((handed) => inbox.isNewest(handed, change))
      })
      return answer as boolean
    }
    return { db, inbox, ask }
  }

  test('is true of what is newer or as new, by date and then by rank, and records that alone', async () => {
    const { db, ask } = await opened()
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
      answers.push(await ask({ subject: 'evt_1', at: at(second), rank }))
    }
    expect(answers).toEqual([true, true, false, false, true, true, false])
    expect(await ask({ subject: 'evt_2', at: new Date(at(1)) })).toBe(true)
    expect(stored(db)).toEqual(['evt_1 06 -1', 'evt_2 01 0'])
  })

  test('is rolled back with the effects, also after a Discard', async () => {
    const { db, inbox, ask } = await opened()
    for (const [key, error] of [
      ['failing', new Error('no')],
      ['discarded', new Discard()],
    ] as const) {
      const once = inbox.once({ ...RETAIN, key }, async (tx) =>
        tx.commit((handed) => {
          expect(inbox.isNewest(handed, { subject: 'evt_1', at: at(9) })).toBe(true)
          throw error
        }),
      )
      await once.catch((thrown: unknown) => expect(thrown).toBe(error))
    }
    expect(stored(db)).toEqual([])
    expect(await ask({ subject: 'evt_1', at: at(1) })).toBe(true)
  })

  test('answers for a list in its order', async () => {
    const { db, inbox, ask } = await opened()
    await ask({ subject: 'b', at: at(5) })
    const list = ['c', 'b', 'a'].map((subject) => ({ subject, at: at(3) }))
    await inbox.once(RETAIN, async (tx) => {
      expect(tx.commit((handed) => inbox.isNewest(handed, list))).toEqual([true, false, true])
    })
    expect(stored(db)).toEqual(['a 03 0', 'b 05 0', 'c 03 0'])
  })

  test('is refused outside of commit, with another database, and of a change that is none, with a TypeError', async () => {
    const { db, inbox } = await opened()
    const change = { subject: 'evt_1', at: at(1) }
    const message = /^isNewest must be called in the callback of ctx.tx.commit/
    expect(() => inbox.isNewest(db, change)).toThrow(TypeError)
    await inbox.once(RETAIN, async (tx) => {
      expect(() => inbox.isNewest(db, change)).toThrow(message)
      tx.commit((handed) => {
        expect(() => inbox.isNewest(open(), change)).toThrow(message)
        expect(() => inbox.isNewest(undefined as never, change)).toThrow(message)
        expect(() => inbox.isNewest(handed, { subject: '', at: at(1) })).toThrow(/^subject must be/)
        expect(() => inbox.isNewest(handed, { subject: 's', at: 'soon' })).toThrow(/^at must be/)
      })
      expect(() => inbox.isNewest(db, change)).toThrow(message)
    })
    expect(stored(db)).toEqual([])
  })

  test('works through a second inbox of the database, which was not used before', async () => {
    const { db, inbox } = await opened()
    const other = sqliteInbox(db)
    await inbox.once(RETAIN, async (tx) => {
      expect(tx.commit((handed) => other.isNewest(handed, { subject: 's', at: at(1) }))).toBe(true)
    })
    expect(stored(db)).toEqual(['s 01 0'])
  })

  test('says which table is missing, and purge works without it, as before a migration', async () => {
    const { db, inbox, ask } = await opened()
    db.exec(`DROP TABLE ${TABLE}`)
    const error: unknown = await ask({ subject: 's', at: at(1) }).catch((e: unknown) => e)
    expect(isWebhookError(error) && [error.code, error.message]).toEqual([
      'store_unavailable',
      expect.stringContaining(`The table "${TABLE}" is missing: run inbox.migrate()`),
    ])
    expect(await inbox.purge()).toBe(0)
  })

  test('is remembered as long as the longest retention of the inbox, at least 7 days, and no shorter afterwards', async () => {
    const { now, jump } = testClock()
    const { db, inbox, ask } = await opened({ now })
    const days = (): unknown => valuesOf(db, `SELECT (expires_at - ${now()}) / ${DAY} FROM ${TABLE}`)[0]
    await ask({ subject: 's', at: at(1) }, 4 * DAY)
    expect(days()).toBe(7)
    await ask({ subject: 's', at: at(1) }, 30 * DAY)
    expect(days()).toBe(30)
    const other = sqliteInbox(db, { now })
    await other.once(RETAIN, async (tx) =>
      tx.commit((handed) => void other.isNewest(handed, { subject: 's', at: at(1) })),
    )
    expect(days()).toBe(30)
    jump(30 * DAY - 1)
    expect(await inbox.purge()).toBe(0)
    jump(1)
    expect(await inbox.purge()).toBe(1)
  })

  test('is remembered for retentionSeconds, also in a process without a receiver, or as long as a receiver keeps records', async () => {
    const { now } = testClock()
    const { db, ask } = await opened({ now, retentionSeconds: 90 * 86_400 })
    const days = (): unknown => valuesOf(db, `SELECT (expires_at - ${now()}) / ${DAY} FROM ${TABLE}`)[0]
    await ask({ subject: 's', at: at(1) }, 7 * DAY)
    expect(days()).toBe(90)
    await ask({ subject: 's', at: at(1) }, 100 * DAY)
    expect(days()).toBe(100)
  })

  test('is purged after the records, the oldest first, and no more than asked for in all', async () => {
    const { now, jump } = testClock()
    const { db, inbox, ask } = await opened({ now })
    for (const key of ['k1', 'k2']) await inbox.once({ key, retainMs: HOUR }, async () => {})
    for (const subject of ['b', 'a', 'c']) {
      await ask({ subject, at: at(1) })
      jump(HOUR)
    }
    jump(7 * DAY - 2 * HOUR)
    expect([await inbox.purge({ limit: 3 }), stored(db)]).toEqual([3, ['a 01 0', 'c 01 0']])
    expect([await inbox.purge({ limit: 3 }), stored(db)]).toEqual([1, ['c 01 0']])
  })

  test('ends the story cancelled in each order of arrival, each copy twice, with each tie, many at once and with failures', async () => {
    const db = openDatabase(driver, ':memory:')
    const seen = new Set<string>()
    const { send, states } = await sqliteListing(db, ({ type, data }) => {
      const isFirst = !seen.has(`${type} ${data.event.id}`)
      seen.add(`${type} ${data.event.id}`)
      return isFirst && seen.size % 2 === 0
    })
    const stories = TIES.flatMap((seconds) => ARRIVALS.map((arrival) => ({ seconds, arrival })))
    await Promise.all(
      stories.flatMap(({ seconds, arrival }, i) => {
        const events = STORY.map((type, step) => storyEvent(type, `evt_${i}`, seconds[step] ?? 0))
        return arrival.map((step) => insist(() => send(events[step] as StoryEvent)))
      }),
    )
    expect(states()).toEqual(['event.cancelled'])
    db.close()
  })

  test('ends the story cancelled with three processes that deliver it in different orders', async () => {
    const file = path()
    let child = 0
    const replies = await raceChildren(
      () => start({ task: 'tell', driver, file, stories: 20, child: child++ }),
      3,
    )
    expect(replies).toEqual([{}, {}, {}])
    expect((await sqliteListing(open())).states()).toEqual(['event.cancelled'])
  })

  test('agrees with a model: the greatest date and rank that were applied', async () => {
    const { db, inbox } = await opened()
    const change = fc.record({
      subject: fc.constantFrom('a', 'b'),
      second: fc.nat(3),
      rank: fc.integer({ min: -1, max: 1 }),
      end: fc.constantFrom('commit', 'commit', 'fail'),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(change, { maxLength: 12 }), async (changes) => {
        db.exec(`DELETE FROM ${TABLE}`)
        const model = new Map<string, number>()
        for (const { subject, second, rank, end } of changes) {
          const place = second * 10 + rank
          const expected = place >= (model.get(subject) ?? Number.NEGATIVE_INFINITY)
          let answer: boolean | undefined
          const once = inbox.once(RETAIN, async (tx) =>
            tx.commit((handed) => {
              answer = inbox.isNewest(handed, { subject, at: at(second), rank })
              if (end === 'fail') throw new Error('rolled back')
            }),
          )
          await once.catch(() => {})
          expect(answer).toBe(expected)
          if (expected && end === 'commit') model.set(subject, place)
        }
      }),
      { numRuns: 25 },
    )
  })
})
