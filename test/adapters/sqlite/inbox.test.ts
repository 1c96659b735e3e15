import { Discard } from 'tix-webhooks'
import { sqliteInbox } from 'tix-webhooks/sqlite'
import { expect, test } from 'vitest'
import { orderCreated } from '../../support/deliveries.js'
import { deferred } from '../../support/promises.js'
import { DAY } from '../../support/sqlite-claims.js'
import { onEachDriver } from '../../support/sqlite-drivers.js'
import { inboxOn, insert } from '../../support/sqlite-inbox.js'
import { rowOf, valuesOf } from '../../support/sqlite-open.js'

onEachDriver('a handler', ({ open }) => {
  test('that commits has its effects and the record of the event stored together', async () => {
    const app = await inboxOn(open(), (event, tx) => tx.commit(insert(event)))
    const order = orderCreated({ id: 'ord_a' })
    expect(await app.send(order)).toBe('200 handled')
    expect(app.effects()).toEqual(['ord_a'])
    expect(app.records()).toEqual(['inbox/order.created/ord_a'])
    expect(await app.send(order)).toBe('200 duplicate')
    expect(app.effects()).toEqual(['ord_a'])
    expect(app.reports).toEqual([])
  })

  test('has both in one transaction: within the effects the record is there, and nobody else sees it', async () => {
    const db = open()
    const seen: unknown[] = []
    const app = await inboxOn(db, (event, tx) => {
      const outside = open()
      seen.push(valuesOf(db, 'SELECT key FROM tix_webhooks_inbox'))
      tx.commit((handed) => {
        insert(event)(handed)
        seen.push(handed === db, valuesOf(handed, 'SELECT key FROM tix_webhooks_inbox'))
        seen.push(
          valuesOf(outside, 'SELECT key FROM tix_webhooks_inbox'),
          valuesOf(outside, 'SELECT id FROM effects'),
        )
      })
      seen.push(
        valuesOf(outside, 'SELECT key FROM tix_webhooks_inbox'),
        valuesOf(outside, 'SELECT id FROM effects'),
      )
    })
    expect(await app.send(orderCreated({ id: 'ord_a' }))).toBe('200 handled')
    const key = 'inbox/order.created/ord_a'
    expect(seen).toEqual([[], true, [key], [], [], [key], ['ord_a']])
  })

  test('may await before it commits, while others use the connection', async () => {
    const db = open()
    const [awaited, reached] = [deferred(), deferred()]
    const app = await inboxOn(db, async (event, tx) => {
      reached.resolve()
      await awaited.promise
      tx.commit(insert(event))
    })
    const sending = app.send(orderCreated({ id: 'ord_a' }))
    await reached.promise
    db.exec("INSERT INTO effects VALUES ('of another request')")
    db.exec("BEGIN; INSERT INTO effects VALUES ('in a transaction'); COMMIT")
    awaited.resolve()
    expect(await sending).toBe('200 handled')
    expect(app.effects()).toEqual(['in a transaction', 'of another request', 'ord_a'])
  })

  test('has the record kept for retainMs from the commit', async () => {
    const db = open()
    let now = 1_000
    const inbox = sqliteInbox(db, { now: () => now })
    await inbox.migrate()
    await inbox.once({ key: 'k', retainMs: DAY }, async (tx) => {
      now += 5_000
      tx.commit(() => {})
    })
    expect(rowOf(db, 'SELECT * FROM tix_webhooks_inbox')).toEqual({
      key: 'k',
      handled_at: 6_000,
      expires_at: 6_000 + DAY,
    })
  })

  test('that throws after it has committed: 500, and the retry is a duplicate of one effect', async () => {
    const app = await inboxOn(open(), (event, tx) => {
      tx.commit(insert(event))
      throw new Error('the mail server is down')
    })
    const order = orderCreated({ id: 'ord_a' })
    expect(await app.send(order)).toBe('500 failed')
    expect(await app.send(order)).toBe('200 duplicate')
    expect(app.effects()).toEqual(['ord_a'])
  })

  test('that discards within its effects: recorded, and they are rolled back', async () => {
    const app = await inboxOn(open(), (event, tx) =>
      tx.commit((db) => {
        insert(event)(db)
        throw new Discard('a test order')
      }),
    )
    const order = orderCreated({ id: 'ord_a' })
    expect(await app.send(order)).toBe('200 discarded')
    expect([app.effects(), app.records()]).toEqual([[], ['inbox/order.created/ord_a']])
    expect(await app.send(order)).toBe('200 duplicate')
  })

  test('that discards after it has committed: discarded, and its effects are kept', async () => {
    const app = await inboxOn(open(), (event, tx) => {
      tx.commit(insert(event))
      throw new Discard('and no more of it')
    })
    const order = orderCreated({ id: 'ord_a' })
    expect(await app.send(order)).toBe('200 discarded')
    expect(app.effects()).toEqual(['ord_a'])
    expect(await app.send(order)).toBe('200 duplicate')
  })
})
