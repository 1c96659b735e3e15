import { sqliteInbox, sqliteStore } from 'tix-webhooks/sqlite'
import { expect, test } from 'vitest'
import { orderCreated } from '../../support/deliveries.js'
import { receiving } from '../../support/receiving.js'
import { expectUnavailable } from '../../support/rejections.js'
import { runs } from '../../support/runs.js'
import { KILL_POINTS, type KillPoint, raceChildren, useChildren } from '../../support/sqlite-children.js'
import { claim } from '../../support/sqlite-claims.js'
import { onEachDriver } from '../../support/sqlite-drivers.js'
import { inboxOn, insert } from '../../support/sqlite-inbox.js'
import { valuesOf } from '../../support/sqlite-open.js'

const { start } = useChildren()

onEachDriver('several processes with a file', ({ open, path, driver }) => {
  test('may migrate at once, though it is not there yet', async () => {
    for (let round = 0; round < runs(4); round++) {
      const file = path(`round-${round}.db`)
      expect(await raceChildren(() => start({ task: 'migrate', driver, file }), 4)).toEqual([{}, {}, {}, {}])
    }
  })

  test('migrate once a reader is done', async () => {
    const db = open()
    db.exec('CREATE TABLE orders (id TEXT)')
    const reader = start({ task: 'hold', by: 'reading', driver, file: path() })
    await reader.reply()
    reader.go()
    // The wait blocks this process, and not the other.
    await sqliteStore(db).migrate()
    expect(valuesOf(db, 'PRAGMA journal_mode')).toEqual(['wal'])
    expect(await reader.ended).toBe(0)
  })

  test('are granted each of 300 keys once, and none meets a lock', async () => {
    await sqliteStore(open()).migrate()
    const keys = Array.from({ length: 300 }, (_, i) => `key-${i}`)
    let children = 0
    const replies = await raceChildren(() => {
      children += 1
      // Two go up and two go down, so that they meet.
      const theirs = children % 2 === 0 ? keys : [...keys].reverse()
      return start({ task: 'claim', driver, file: path(), token: `process-${children}`, keys: theirs })
    }, 4)
    expect(replies.map(({ error }) => error)).toEqual([undefined, undefined, undefined, undefined])
    expect(replies.flatMap((reply) => reply.claimed ?? []).sort()).toEqual([...keys].sort())
  })

  test('wait for one that writes for less than busy_timeout, and guess no answer after that', async () => {
    const db = open()
    const [store, inbox] = [sqliteStore(db), sqliteInbox(db)]
    await store.migrate()
    await inbox.migrate()
    db.exec('PRAGMA busy_timeout = 20')
    const stored = receiving({ store, namespace: 'n', on: { 'order.created': () => {} } })
    const inInbox = receiving({
      inbox,
      // On the same table.
      namespace: 'i',
      on: {
        'order.created': (_, ctx) => (ctx.tx as unknown as { commit(f: () => void): void }).commit(() => {}),
      },
    })
    const order = orderCreated()

    const holder = start({ task: 'hold', by: 'writing', driver, file: path() })
    await holder.reply()
    const message = /Another process held the database for longer than busy_timeout/
    await expectUnavailable(claim(store, 'k', 'a'), message)
    for (const { send, records } of [stored, inInbox]) {
      expect(await send(order)).toMatchObject({
        outcome: 'unavailable',
        code: 'store_unavailable',
        error: { message: expect.stringMatching(message) },
      })
      expect(records).toMatchObject([{ status: 503 }])
    }
    db.exec('PRAGMA busy_timeout = 60000')
    holder.go()
    expect(await claim(store, 'k', 'a')).toEqual({ status: 'claimed', attempt: 1 })
    expect(await holder.ended).toBe(0)
    for (const { send } of [stored, inInbox]) {
      expect(await send(order)).toMatchObject({ outcome: 'handled' })
      expect(await send(order)).toMatchObject({ outcome: 'duplicate' })
    }
  })
})

onEachDriver('a disk that takes nothing more', ({ path, driver }) => {
  test('fails each delivery, and each check', async () => {
    const { said } = await start({ task: 'fill', driver, file: path(), kilobytes: 200 }).reply()
    expect(said).toEqual({
      before: Array(5).fill('ok'),
      after: Array(5).fill(expect.stringMatching(/^SQLite could not run the statement/)),
    })
  })
})

/** The points of a delivery, with whether a kill there comes too late to undo its commit. */
const POINTS: [end: 'succeeds' | 'fails', killAt: KillPoint, isCommitted: boolean][] = [
  ...KILL_POINTS.map((point): (typeof POINTS)[number] => [
    'succeeds',
    point,
    point === 'after COMMIT' || point === 'after ctx.tx.commit',
  ]),
  ['fails', 'in the handler', false],
  ['fails', 'before COMMIT', false],
  ['fails', 'after COMMIT', true],
]

onEachDriver('a process that is killed', ({ open, path, driver }) => {
  test.each(POINTS)(
    'while a delivery %s, %s, leaves all or nothing, a failure until the event is handled, and none then',
    async (end, killAt, isCommitted) => {
      let isFixed = false
      const app = await inboxOn(open(), (event, tx) => {
        if (!isFixed) throw new Error('no ink')
        tx.commit(insert(event))
      })
      // One event that has failed before, and one that has not.
      const [redelivered, fresh] = [orderCreated({ id: 'ord_again' }), orderCreated({ id: 'ord_new' })]
      expect(await app.send(redelivered)).toBe('500 failed')
      const before = (await app.inbox.ledger.list({ bodies: true }))[0]

      const children = [redelivered, fresh].map((payload) =>
        start({ task: 'deliver', driver, file: path(), payload, killAt, fails: end === 'fails' }),
      )
      expect(await Promise.all(children.map(({ ended }) => ended))).toEqual(['SIGKILL', 'SIGKILL'])

      const isHandled = end === 'succeeds' && isCommitted
      const handled = isHandled ? ['ord_again', 'ord_new'] : []
      expect(app.effects()).toEqual(handled)
      expect(app.records()).toEqual(handled.map((id) => `inbox/order.created/${id}`))
      const failures = await app.inbox.ledger.list({ bodies: true })
      const kept = end === 'fails' && isCommitted ? { ord_again: 2, ord_new: 1 } : { ord_again: 1 }
      expect(Object.fromEntries(failures.map(({ orderId, failure }) => [orderId, failure?.count]))).toEqual(
        isHandled ? {} : kept,
      )
      if (!isHandled && !isCommitted) expect(failures).toEqual([before])

      isFixed = true
      for (const answer of [isHandled ? '200 duplicate' : '200 handled', '200 duplicate']) {
        for (const order of [redelivered, fresh]) expect(await app.send(order)).toBe(answer)
        expect(app.effects()).toEqual(['ord_again', 'ord_new'])
      }
      expect(await app.inbox.ledger.count()).toBe(0)
    },
  )

  // Its cache holds ten pages, so the others are in the file before the commit: only a journal on the disk takes them back.
  test.each(['MEMORY', 'OFF'])('in journal mode %s leaves nothing, and a sound file', async (mode) => {
    const payload = orderCreated({ id: `ord_${'x'.repeat(500)}` })
    const setup = `PRAGMA journal_mode = ${mode}; PRAGMA cache_size = 10`
    const killed = start({
      task: 'deliver',
      driver,
      file: path(),
      payload,
      killAt: 'before COMMIT',
      setup,
      times: 500,
    })
    expect(await killed.ended).toBe('SIGKILL')
    const db = open()
    const app = await inboxOn(db, (event, tx) => tx.commit(insert(event)))
    expect(valuesOf(db, 'PRAGMA integrity_check')).toEqual(['ok'])
    expect([app.effects(), app.records()]).toEqual([[], []])
    expect(await app.send(payload)).toBe('200 handled')
    expect(app.effects()).toEqual([payload.data.order.id])
  })
})
