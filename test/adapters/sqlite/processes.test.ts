import { sqliteInbox, sqliteStore } from 'tix-webhooks/sqlite'
import { expect, test } from 'vitest'
import { orderCreated } from '../../support/deliveries.js'
import { receiving } from '../../support/receiving.js'
import { runs } from '../../support/runs.js'
import { raceChildren, useChildren } from '../../support/sqlite-children.js'
import { claim } from '../../support/sqlite-claims.js'
import { onEachDriver } from '../../support/sqlite-drivers.js'
import { valuesOf } from '../../support/sqlite-open.js'
import { expectUnavailable } from '../../support/sqlite-rejections.js'

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
