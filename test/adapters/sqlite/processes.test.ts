import { sqliteInbox, sqliteStore } from 'tix-webhooks/sqlite'
import { expect, test } from 'vitest'
import { orderCreated } from '../../support/deliveries.js'
import { receiving } from '../../support/receiving.js'
import { raceChildren, useChildren } from '../../support/sqlite-children.js'
import { claim, handle } from '../../support/sqlite-claims.js'
import { onEachDriver } from '../../support/sqlite-drivers.js'

const { start } = useChildren()

onEachDriver('a file', ({ open, path, driver }) => {
  test('remembers over a restart what was handled, released and claimed', async () => {
    const first = open()
    const store = sqliteStore(first)
    await store.migrate()
    await handle(store, 'completed')
    await claim(store, 'released', 'a')
    await store.release({ key: 'released', token: 'a' })
    await claim(store, 'running', 'a')
    first.close()

    const again = sqliteStore(open())
    expect(await claim(again, 'completed', 'b')).toEqual({ status: 'completed' })
    expect(await claim(again, 'released', 'b')).toEqual({ status: 'claimed', attempt: 2 })
    expect(await claim(again, 'running', 'b')).toMatchObject({ status: 'in_flight' })
    expect(await again.complete({ key: 'running', token: 'a' }, 60_000)).toBe(true)
  })

  test('makes a receiver of tomorrow answer what one of today handled', async () => {
    const [order, later] = [orderCreated(), orderCreated()]
    const runs: string[] = []
    const on = {
      'order.created': (event: { data: { order: { id: string } } }) => void runs.push(event.data.order.id),
    }
    for (const outcome of ['handled', 'duplicate', 'duplicate']) {
      const db = open()
      const [store, inbox] = [sqliteStore(db), sqliteInbox(db)]
      await store.migrate()
      await inbox.migrate()
      const toStore = receiving({ store, namespace: 'n', on })
      const toInbox = receiving({ inbox, namespace: 'n', on })
      expect(await toStore.send(order)).toMatchObject({ outcome })
      expect(await toInbox.send(later)).toMatchObject({ outcome })
      await toStore.receiver.drain()
      db.close()
    }
    expect(runs).toEqual([order.data.order.id, later.data.order.id])
  })

  test('grants each of 300 keys once to four processes that race, and none meets a lock', async () => {
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
    const claimed = replies.flatMap((reply) => reply.claimed ?? [])
    expect(claimed).toHaveLength(300)
    expect(new Set(claimed)).toEqual(new Set(keys))
  })
})
