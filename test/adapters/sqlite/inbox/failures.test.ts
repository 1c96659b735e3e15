import { expect, test } from 'vitest'
import { orderCreated } from '../../../support/deliveries.js'
import { onEachDriver } from '../../../support/sqlite-drivers.js'
import { inboxOn, insert, type Tx } from '../../../support/sqlite-inbox.js'
import { rowOf, type TestDatabase, valuesOf } from '../../../support/sqlite-open.js'
import { expectUnavailable } from '../../../support/sqlite-rejections.js'

const once = { key: 'k', retainMs: 60_000 }

/** Returns the error that a call throws. */
function thrownBy(call: () => unknown): unknown {
  try {
    call()
  } catch (error) {
    return error
  }
  return expect.fail('It threw nothing.')
}

onEachDriver('a commit', ({ open, driver }) => {
  test('of effects that throw rolls back both, and passes the very error on', async () => {
    const noInk = new Error('no ink')
    const db = open()
    const app = await inboxOn(db, () => {})
    const work = async (tx: Tx) => {
      tx.commit((handed) => {
        handed.exec("INSERT INTO effects VALUES ('ord_a')")
        throw noInk
      })
    }
    await expect(app.inbox.once(once, work as never)).rejects.toBe(noInk)
    expect([app.effects(), app.records()]).toEqual([[], []])
    db.exec("BEGIN; INSERT INTO effects VALUES ('a transaction of somebody'); COMMIT")
    await expect(app.inbox.once(once, async () => {})).resolves.toEqual({ status: 'handled' })
  })

  test('of effects that end the transaction by themselves is not believed', async () => {
    const db = open()
    const app = await inboxOn(db, () => {})
    const work = async (tx: Tx) => {
      tx.commit((handed) => handed.exec("ROLLBACK; BEGIN; INSERT INTO effects VALUES ('ord_a')"))
    }
    await expectUnavailable(app.inbox.once(once, work as never), /ended the transaction of the inbox/)
    expect([app.effects(), app.records()]).toEqual([[], []])
  })

  test('that fails at COMMIT, and whose handler goes on: 503, never handled', async () => {
    const db = open()
    db.exec('PRAGMA foreign_keys = ON; CREATE TABLE orders (id TEXT PRIMARY KEY)')
    db.exec('CREATE TABLE tickets (o TEXT REFERENCES orders (id) DEFERRABLE INITIALLY DEFERRED)')
    const thrown: unknown[] = []
    const app = await inboxOn(db, (event, tx) => {
      thrown.push(
        thrownBy(() =>
          tx.commit(() => {
            insert(event)(db)
            db.exec("INSERT INTO tickets VALUES ('of no order')")
          }),
        ),
      )
    })
    const order = orderCreated()
    expect(await app.send(order)).toBe('503 unavailable')
    expect(await app.send(order)).toBe('503 unavailable')
    expect([app.effects(), app.records(), valuesOf(db, 'SELECT o FROM tickets')]).toEqual([[], [], []])
    expect(thrown[0]).toMatchObject({
      code: 'store_unavailable',
      cause: { message: expect.stringMatching(/FOREIGN KEY/) },
    })
    expect(app.reports[0]).toMatch(/ctx\.tx\.commit failed and the handler went on, so nothing .* was kept/)
    db.exec("BEGIN; INSERT INTO effects VALUES ('it is free'); COMMIT")
  })

  test('whose effects failed, and whose handler goes on: once rejects, never handled', async () => {
    const app = await inboxOn(open(), () => {})
    const work = async (tx: Tx): Promise<void> => {
      thrownBy(() =>
        tx.commit(() => {
          throw new Error('no ink')
        }),
      )
    }
    await expectUnavailable(
      app.inbox.once(once, work as never),
      /ctx\.tx\.commit failed and the handler went on/,
      'rolled_back',
    )
    expect(app.records()).toEqual([])
  })

  test('may be called again after it failed: handled once', async () => {
    let calls = 0
    const app = await inboxOn(open(), (event, tx) => {
      const effects = (db: TestDatabase): void => {
        calls += 1
        insert(event)(db)
        if (calls === 1) throw new Error('no ink')
      }
      thrownBy(() => tx.commit(effects))
      tx.commit(effects)
    })
    const order = orderCreated({ id: 'ord_a' })
    expect(await app.send(order)).toBe('200 handled')
    expect(await app.send(order)).toBe('200 duplicate')
    expect(app.effects()).toEqual(['ord_a'])
    expect(calls).toBe(2)
  })

  test.skipIf(driver !== 'better-sqlite3')(
    "holds a transaction of the driver's own as a part of it",
    async () => {
      const db = open() as TestDatabase & { transaction(work: () => void): () => void }
      let fails = true
      const app = await inboxOn(db, (event, tx) =>
        tx.commit(() => {
          db.transaction(() => insert(event)(db))()
          if (fails) throw new Error('no ink')
        }),
      )
      const order = orderCreated({ id: 'ord_a' })
      expect(await app.send(order)).toBe('500 failed')
      expect([app.effects(), app.records()]).toEqual([[], []])
      fails = false
      expect(await app.send(order)).toBe('200 handled')
      expect(app.effects()).toEqual(['ord_a'])
    },
  )

  test('on a connection that is in a transaction of other code says so, and leaves that one alone', async () => {
    const db = open()
    const app = await inboxOn(db, (event, tx) => tx.commit(insert(event)))
    const order = orderCreated({ id: 'ord_a' })
    await app.send(orderCreated({ id: 'ord_before' }))

    for (const end of ['ROLLBACK', 'COMMIT']) {
      db.exec('BEGIN')
      db.exec(`INSERT INTO effects VALUES ('foreign, ${end}')`)
      expect(await app.send(order)).toBe('503 unavailable')
      expect(rowOf(db, `SELECT count(*) AS n FROM effects WHERE id = 'foreign, ${end}'`)).toEqual({ n: 1 })
      const outside = open()
      expect(valuesOf(outside, 'SELECT id FROM effects')).toEqual(['ord_before'])
      db.exec(end)
    }
    expect(app.reports).toEqual(
      Array(2).fill(
        expect.stringMatching(/is in a transaction that other code began: give tix-webhooks a connection/),
      ),
    )
    expect(app.effects()).toEqual(['foreign, COMMIT', 'ord_before'])
    expect(await app.send(order)).toBe('200 handled')
    expect(app.effects()).toEqual(['foreign, COMMIT', 'ord_a', 'ord_before'])
  })
})
