import { sqliteInbox, sqliteStore } from 'tix-webhooks/sqlite'
import { expect, test, vi } from 'vitest'
import { orderCreated } from '../../support/deliveries.js'
import { receiving } from '../../support/receiving.js'
import { useChildren } from '../../support/sqlite-children.js'
import { claim } from '../../support/sqlite-claims.js'
import { onEachDriver } from '../../support/sqlite-drivers.js'
import { type TestDatabase, valuesOf } from '../../support/sqlite-open.js'
import { expectUnavailable } from '../../support/sqlite-rejections.js'

const { start } = useChildren()
const runs = async (): Promise<void> => expect.fail('It ran.')
const once = { key: 'k', retainMs: 60_000 }

onEachDriver('a database that another connection has locked', ({ open, path, driver }) => {
  async function migrated(db: TestDatabase = open()) {
    const [store, inbox] = [sqliteStore(db), sqliteInbox(db)]
    await store.migrate()
    await inbox.migrate()
    return { db, store, inbox }
  }

  test('against a switch to WAL: nothing is written in the mode that it is in', async () => {
    const db = open()
    db.exec('PRAGMA journal_mode = OFF; PRAGMA busy_timeout = 1; CREATE TABLE orders (id TEXT)')
    const reader = open()
    reader.exec('BEGIN')
    reader.prepare('SELECT * FROM orders').all()

    let ms = 0
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => {
      ms += 1_000
      return ms
    })
    await expectUnavailable(sqliteStore(db).migrate(), /Another process held the database/)
    clock.mockRestore()
    reader.exec('COMMIT')
    expect(valuesOf(db, 'SELECT name FROM sqlite_master')).toEqual(['orders'])
    await migrated(db)
    expect(valuesOf(db, 'PRAGMA journal_mode')).toEqual(['wal'])
  })

  test('during one claim: the next claim is of its own key', async () => {
    const { db, store } = await migrated()
    db.exec('PRAGMA busy_timeout = 1')
    const writer = open()
    await claim(store, 'before', 'a')
    writer.exec('BEGIN IMMEDIATE')
    await expectUnavailable(claim(store, 'failed', 'b'), /Another process held the database/)
    writer.exec('ROLLBACK')
    expect(await claim(store, 'after', 'c')).toEqual({ status: 'claimed', attempt: 1 })
    expect(valuesOf(db, 'SELECT key FROM tix_webhooks ORDER BY key')).toEqual(['after', 'before'])
  })

  test('during a purge or a claim: the next delivery to the inbox commits all the same', async () => {
    const { db, store, inbox } = await migrated()
    db.exec('PRAGMA busy_timeout = 1')
    const writer = open()
    writer.exec('BEGIN IMMEDIATE')
    const message = /Another process held the database/
    await expectUnavailable(inbox.purge(), message)
    await expectUnavailable(store.purge(), message)
    await expectUnavailable(claim(store, 'k', 'a'), message)
    await expectUnavailable(store.release({ key: 'k', token: 'a' }), message)
    writer.exec('ROLLBACK')
    expect(await inbox.once(once, async (tx) => tx.commit(() => {}))).toEqual({ status: 'handled' })
  })

  test('during the look of the inbox: the next delivery looks for its own key', async () => {
    const { db, inbox } = await migrated()
    await inbox.once({ ...once, key: 'handled' }, async () => {})
    db.exec('ALTER TABLE tix_webhooks_inbox RENAME TO elsewhere')
    await expectUnavailable(inbox.once({ ...once, key: 'handled' }, runs), /is missing/)
    db.exec('ALTER TABLE elsewhere RENAME TO tix_webhooks_inbox')
    expect(await inbox.once({ ...once, key: 'new' }, async () => {})).toEqual({ status: 'handled' })
    expect(await inbox.once({ ...once, key: 'handled' }, runs)).toEqual({ status: 'duplicate' })
  })

  test('that another process holds for longer than busy_timeout: no answer is guessed', async () => {
    const { db, store, inbox } = await migrated()
    db.exec('PRAGMA busy_timeout = 20')
    const { receiver, send, records } = receiving({
      store,
      namespace: 'n',
      on: { 'order.created': () => {} },
    })
    const inboxReceiving = receiving({
      inbox,
      namespace: 'n',
      on: {
        'order.created': (_, ctx) => (ctx.tx as unknown as { commit(f: () => void): void }).commit(() => {}),
      },
    })
    const order = orderCreated()

    const holder = start({ task: 'hold', by: 'writing', driver, file: path() })
    await holder.reply()
    const message = /Another process held the database for longer than busy_timeout/
    await expectUnavailable(claim(store, 'k', 'a'), message)
    for (const to of [send, inboxReceiving.send]) {
      expect(await to(order)).toMatchObject({
        outcome: 'unavailable',
        code: 'store_unavailable',
        error: { message: expect.stringMatching(message) },
      })
    }
    expect(records.at(-1)).toMatchObject({ status: 503 })
    holder.go()
    expect(await holder.ended).toBe(0)

    for (const to of [send, inboxReceiving.send]) {
      expect(await to(order)).toMatchObject({ outcome: 'handled' })
      expect(await to(order)).toMatchObject({ outcome: 'duplicate' })
    }
    await receiver.drain()
  })

  test('that another process holds for less: the call waits for it', async () => {
    const { db, store } = await migrated()
    db.exec('PRAGMA busy_timeout = 60000')
    const holder = start({ task: 'hold', by: 'writing', driver, file: path() })
    await holder.reply()
    holder.go()
    // The wait blocks this process, and not the other.
    expect(await claim(store, 'k', 'a')).toEqual({ status: 'claimed', attempt: 1 })
    expect(await holder.ended).toBe(0)
  })
})
