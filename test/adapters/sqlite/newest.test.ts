import type { Change } from 'tix-webhooks'
import { sqliteInbox } from 'tix-webhooks/sqlite'
import { expect, test } from 'vitest'
import { ARRIVALS, insist, STORY, type StoryEvent, storyEvent, TIES } from '../../support/listing-story.js'
import { raceChildren, useChildren } from '../../support/sqlite-children.js'
import { DAY } from '../../support/sqlite-claims.js'
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
})
