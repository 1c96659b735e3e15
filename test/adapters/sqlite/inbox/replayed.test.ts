import { expect, test } from 'vitest'
import { orderCreated } from '../../../support/deliveries.js'
import { onEachDriver } from '../../../support/sqlite-drivers.js'
import { inboxOn, insert } from '../../../support/sqlite-inbox.js'

const KEY = 'inbox/order.created/ord_a'

onEachDriver('a receiver with an inbox and failures in one file', ({ open }) => {
  /** Two processes' receivers, whose handlers fail until they are fixed. */
  async function receivers() {
    const calls: string[] = []
    const app = { isFixed: false }
    const make = () =>
      inboxOn(
        open(),
        async (event, tx, ctx) => {
          calls.push(ctx.replayed ? 'replay' : 'delivery')
          // Others run in between.
          await new Promise(setImmediate)
          if (!app.isFixed) throw new Error('no ink')
          tx.commit(insert(event))
        },
        { keepsFailures: true, parkAfter: { attempts: 2 } },
      )
    return { app, calls, one: await make(), other: await make(), order: orderCreated({ id: 'ord_a' }) }
  }

  test('parks an event, runs it no more, and handles it when it is replayed', async () => {
    const { app, calls, one, other, order } = await receivers()
    expect(await one.send(order)).toBe('500 failed')
    expect(await other.send(order)).toBe('200 parked')
    expect(await one.send(order)).toBe('200 parked')
    expect(calls).toEqual(['delivery', 'delivery'])

    expect(await one.receiver.replay(KEY)).toMatchObject({ outcome: 'failed' })
    expect(await other.failures.get(KEY)).toMatchObject({ state: 'parked', attempts: 3, replays: 1 })

    app.isFixed = true
    expect(await other.receiver.replay(KEY)).toMatchObject({ outcome: 'handled' })
    expect(one.effects()).toEqual(['ord_a'])
    expect(await one.failures.count()).toBe(0)
    expect(await one.receiver.replay(KEY)).toBeUndefined()
    expect(await one.send(order)).toBe('200 duplicate')
    expect(calls.slice(2)).toEqual(['replay', 'replay'])
  })

  test('has one effect of two replays and two deliveries at the same time, and no failure', async () => {
    const { app, one, other, order } = await receivers()
    await one.send(order)
    app.isFixed = true
    const ends = await Promise.all([
      one.receiver.replay(KEY).then((outcome) => outcome?.outcome),
      other.receiver.replay(KEY).then((outcome) => outcome?.outcome),
      one.send(order),
      other.send(order),
    ])
    expect(ends.filter((end) => end?.endsWith('handled'))).toHaveLength(1)
    expect(ends.filter((end) => end?.endsWith('duplicate'))).toHaveLength(3)
    expect(one.effects()).toEqual(['ord_a'])
    expect(await one.failures.count()).toBe(0)
    expect([...one.reports.slice(1), ...other.reports]).toEqual([])
  })

  test('keeps one failure for each event of a flood, and handles them all by one replay', async () => {
    const { app, one, other } = await receivers()
    const orders = Array.from({ length: 30 }, (_, i) =>
      orderCreated({ id: `ord_${String(i).padStart(2, '0')}` }),
    )
    await Promise.all(orders.flatMap((order) => [one.send(order), other.send(order)]))
    expect(await one.failures.count()).toBe(30)
    expect((await one.failures.groups()).map(({ count }) => count)).toEqual([30])
    app.isFixed = true
    const replayed = await other.receiver.replay({ kind: 'order.created' })
    expect(replayed.map(({ outcome }) => outcome)).toEqual(orders.map(() => 'handled'))
    expect(one.effects()).toHaveLength(30)
    expect(await one.failures.count()).toBe(0)
  })

  test('handles events also before the table of the failures is made, and reports that', async () => {
    const db = open('without.db')
    const app = await inboxOn(db, (event, tx) => tx.commit(insert(event)), { keepsFailures: true })
    db.exec('DROP TABLE tix_webhooks_failures')
    const order = orderCreated({ id: 'ord_a' })
    expect(await app.send(order)).toBe('200 handled')
    expect(app.reports).toEqual([
      expect.stringMatching(/"tix_webhooks_failures" is missing: run failures\.migrate/),
    ])
    expect(await app.receiver.health()).toMatchObject({ ok: false })
    await app.failures.migrate()
    expect(await app.receiver.health()).toEqual({ ok: true, problems: [] })
  })
})
