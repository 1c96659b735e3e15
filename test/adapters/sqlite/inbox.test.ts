import { Discard, RetryLater } from 'tix-webhooks'
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

  test('that never commits has the event recorded alone', async () => {
    const app = await inboxOn(open(), () => {})
    const order = orderCreated({ id: 'ord_a' })
    expect(await app.send(order)).toBe('200 handled')
    expect(app.records()).toEqual(['inbox/order.created/ord_a'])
    expect(await app.send(order)).toBe('200 duplicate')
  })

  test('gets what its effects return', async () => {
    const got: unknown[] = []
    const app = await inboxOn(open(), (_, tx) => {
      got.push(tx.commit((db) => rowOf(db, 'SELECT 40 + 2 AS answer')))
    })
    expect(await app.send(orderCreated())).toBe('200 handled')
    expect(got).toEqual([{ answer: 42 }])
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

  test('whose key is null runs each time, in a transaction without a record', async () => {
    let fails = true
    const app = await inboxOn(
      open(),
      (event, tx, ctx) => {
        expect(ctx.deduplicated).toBe(false)
        tx.commit((db) => {
          insert(event)(db)
          if (fails) throw new Error('no ink')
        })
      },
      { key: () => null },
    )
    const order = orderCreated({ id: 'ord_a' })
    expect(await app.send(order)).toBe('500 failed')
    expect(app.effects()).toEqual([])
    fails = false
    expect(await app.send(order)).toBe('200 handled')
    expect(await app.send(order)).toBe('200 handled')
    expect(app.effects()).toEqual(['ord_a', 'ord_a'])
    expect(app.records()).toEqual([])
  })

  test('has no attempt, and is told that it is deduplicated', async () => {
    const told: unknown[] = []
    const app = await inboxOn(open(), (_, __, { attempt, deduplicated, key }) => {
      told.push({ attempt, deduplicated, key })
    })
    await app.send(orderCreated({ id: 'ord_a' }))
    expect(told).toEqual([{ attempt: undefined, deduplicated: true, key: 'inbox/order.created/ord_a' }])
  })

  test('that throws before it commits leaves nothing, and the next delivery runs', async () => {
    let fails = true
    const app = await inboxOn(open(), (event, tx) => {
      if (fails) throw new Error('no ink')
      tx.commit(insert(event))
    })
    const order = orderCreated({ id: 'ord_a' })
    expect(await app.send(order)).toBe('500 failed')
    expect([app.effects(), app.records()]).toEqual([[], []])
    expect(app.reports).toEqual(['Error: no ink'])
    fails = false
    expect(await app.send(order)).toBe('200 handled')
    expect(app.effects()).toEqual(['ord_a'])
  })

  test('that wants to run later leaves nothing', async () => {
    const app = await inboxOn(open(), () => {
      throw new RetryLater({ afterSeconds: 60 })
    })
    expect(await app.send(orderCreated())).toBe('503 retry_later')
    expect(app.records()).toEqual([])
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

  test('that is slower than the deadline still commits, and the retry is a duplicate', async () => {
    const awaited = deferred()
    const app = await inboxOn(
      open(),
      async (event, tx) => {
        await awaited.promise
        tx.commit(insert(event))
      },
      { timeoutSeconds: 0.25 },
    )
    const order = orderCreated({ id: 'ord_a' })
    expect(await app.send(order)).toBe('503 timed_out')
    expect(app.effects()).toEqual([])
    awaited.resolve()
    await app.receiver.drain()
    expect([app.effects(), app.records()]).toEqual([['ord_a'], ['inbox/order.created/ord_a']])
    expect(app.reports).toEqual([expect.stringMatching(/had not returned after 0\.25 s/)])

    const next = await inboxOn(open(), () => expect.fail('It ran.'))
    expect(await next.send(order)).toBe('200 duplicate')
  })

  test('that discards before it commits: recorded, without effects', async () => {
    const app = await inboxOn(open(), () => {
      throw new Discard('a test order')
    })
    const order = orderCreated({ id: 'ord_a' })
    expect(await app.send(order)).toBe('200 discarded')
    expect(app.records()).toEqual(['inbox/order.created/ord_a'])
    expect(await app.send(order)).toBe('200 duplicate')
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
