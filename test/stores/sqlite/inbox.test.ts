import { Discard, type OnceRun } from 'tix-webhooks'
import { sqliteInbox, sqliteStore } from 'tix-webhooks/sqlite'
import { expect, test } from 'vitest'
import { orderCreated } from '../../support/deliveries.js'
import { failedDelivery } from '../../support/failed-delivery.js'
import { deferred, turns } from '../../support/promises.js'
import { expectUnavailable } from '../../support/rejections.js'
import { claim, DAY } from '../../support/sqlite-claims.js'
import { onEachDriver } from '../../support/sqlite-drivers.js'
import { type Handler, handledIn, inboxOn, insert, type Tx } from '../../support/sqlite-inbox.js'
import { rowOf, type TestDatabase, valuesOf } from '../../support/sqlite-open.js'
import { errorOf } from '../../support/thrown-error.js'

const KEY = 'inbox/order.created/ord_a'
const order = orderCreated({ id: 'ord_a' })

/** Commits the effects, and continues if that fails. */
function swallow(tx: Tx, effects: (db: TestDatabase) => void): void {
  try {
    tx.commit(effects)
  } catch {}
}

/** A call without types, as from plain JavaScript. */
const commitUntyped = (tx: Tx, effects: unknown): void => tx.commit(effects as () => void)

onEachDriver('a handler', ({ open }) => {
  test('has its effects and the record in one transaction: within the effects the record is there, and nobody else sees it', async () => {
    const db = open()
    const seen: unknown[] = []
    const app = await inboxOn(db, (event, tx) => {
      const outside = open()
      const see = (from: TestDatabase): void => {
        seen.push([handledIn(from), valuesOf(from, 'SELECT id FROM effects')])
      }
      see(db)
      tx.commit((handed) => {
        insert(event)(handed)
        expect(handed).toBe(db)
        see(handed)
        see(outside)
      })
      see(outside)
    })
    expect(await app.send(order)).toBe('200 handled')
    const both = [[KEY], ['ord_a']]
    expect(seen).toEqual([[[], []], both, [[], []], both])
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
    const record = { event_key: 'k', handled_at: 6_000, expires_at: 6_000 + DAY }
    expect(rowOf(db, 'SELECT event_key, handled_at, expires_at FROM tix_webhooks_events')).toEqual(record)
  })

  test.each<[ends: string, answer: string, effects: string[], handler: Handler]>([
    [
      'throws after it has committed',
      '500 failed',
      ['ord_a'],
      (event, tx) => {
        tx.commit(insert(event))
        throw new Error('the mail server is down')
      },
    ],
    [
      'discards within its effects',
      '200 discarded',
      [],
      (event, tx) =>
        tx.commit((db) => {
          insert(event)(db)
          throw new Discard('a test order')
        }),
    ],
    [
      'discards after it has committed',
      '200 discarded',
      ['ord_a'],
      (event, tx) => {
        tx.commit(insert(event))
        throw new Discard('and no more of it')
      },
    ],
    [
      'commits again after that has failed',
      '200 handled',
      ['ord_a'],
      (event, tx) => {
        swallow(tx, (db) => {
          insert(event)(db)
          throw new Error('no ink')
        })
        tx.commit(insert(event))
      },
    ],
  ])('that %s is answered %s and recorded, with the effects %j', async (_, answer, effects, handler) => {
    const app = await inboxOn(open(), handler)
    expect(await app.send(order)).toBe(answer)
    expect([app.effects(), app.records()]).toEqual([effects, [KEY]])
    expect(await app.send(order)).toBe('200 duplicate')
    expect(app.effects()).toEqual(effects)
  })
})

onEachDriver('ctx.tx.commit', ({ open, driver }) => {
  test('whose effects end the transaction by themselves is not believed', async () => {
    const app = await inboxOn(open(), () => {})
    const once = app.inbox.once({ key: 'k', retainMs: DAY }, async (tx) => {
      tx.commit((handed) => handed.exec("ROLLBACK; BEGIN; INSERT INTO effects VALUES ('ord_a')"))
    })
    await expectUnavailable(once, /ended the transaction of the inbox/)
    expect([app.effects(), app.records()]).toEqual([[], []])
  })

  test('that fails at COMMIT, and whose handler continues: 503, never handled', async () => {
    const db = open()
    db.exec('PRAGMA foreign_keys = ON; CREATE TABLE orders (id TEXT PRIMARY KEY)')
    db.exec('CREATE TABLE tickets (o TEXT REFERENCES orders (id) DEFERRABLE INITIALLY DEFERRED)')
    const thrown: unknown[] = []
    const app = await inboxOn(db, async (event, tx) => {
      const error = await errorOf(() =>
        tx.commit(() => {
          insert(event)(db)
          db.exec("INSERT INTO tickets VALUES ('of no order')")
        }),
      )
      thrown.push(error)
    })
    for (let time = 0; time < 2; time++) expect(await app.send(order)).toBe('503 unavailable')
    expect([app.effects(), app.records(), valuesOf(db, 'SELECT o FROM tickets')]).toEqual([[], [], []])
    expect(thrown[0]).toMatchObject({
      code: 'store_unavailable',
      cause: { message: expect.stringMatching(/FOREIGN KEY/) },
    })
    expect(app.reports[0]).toMatch(/ctx\.tx\.commit failed and the handler went on, so nothing .* was kept/)
    db.exec("BEGIN; INSERT INTO effects VALUES ('it is free'); COMMIT")
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
    await app.send(orderCreated({ id: 'ord_before' }))
    for (const end of ['ROLLBACK', 'COMMIT']) {
      db.exec(`BEGIN; INSERT INTO effects VALUES ('foreign, ${end}')`)
      expect(await app.send(order)).toBe('503 unavailable')
      expect(valuesOf(db, `SELECT id FROM effects WHERE id = 'foreign, ${end}'`)).toHaveLength(1)
      expect(valuesOf(open(), 'SELECT id FROM effects')).toEqual(['ord_before'])
      db.exec(end)
    }
    const advice = /is in a transaction that other code began: give tix-webhooks a connection/
    expect(app.reports).toEqual(Array(2).fill(expect.stringMatching(advice)))
    expect(await app.send(order)).toBe('200 handled')
    expect(app.effects()).toEqual(['foreign, COMMIT', 'ord_a', 'ord_before'])
  })

  test('that is called twice throws a TypeError, and the effects of the first are kept once', async () => {
    const thrown: unknown[] = []
    const app = await inboxOn(open(), async (event, tx) => {
      tx.commit(insert(event))
      thrown.push(await errorOf(() => tx.commit(insert(event))))
    })
    expect(await app.send(order)).toBe('200 handled')
    expect(thrown).toEqual([expect.any(TypeError)])
    expect(String(thrown[0])).toMatch(/ctx\.tx\.commit was called twice: put all effects into one call/)
    expect(app.effects()).toEqual(['ord_a'])
  })

  test.each<[string, (event: Parameters<typeof insert>[0]) => (db: TestDatabase) => unknown]>([
    ['an async function', (event) => async (db) => insert(event)(db)],
    [
      'a function that returns a thenable',
      (event) => (db) => {
        insert(event)(db)
        // biome-ignore lint/suspicious/noThenProperty: query builders have one
        return { then: () => {} }
      },
    ],
  ])('of %s throws a TypeError and rolls back, and the retry may do it right', async (_, wrong) => {
    let isFixed = false
    const app = await inboxOn(open(), (event, tx) => commitUntyped(tx, (isFixed ? insert : wrong)(event)))
    expect(await app.send(order)).toBe('500 failed')
    expect(app.reports[0]).toMatch(
      /^TypeError.*must be synchronous, and it returned a promise: await before the call/,
    )
    expect([app.effects(), app.records()]).toEqual([[], []])
    isFixed = true
    expect(await app.send(order)).toBe('200 handled')
    expect(app.effects()).toEqual(['ord_a'])
  })

  test('of an async function that fails leaves no rejection unhandled', async () => {
    const unhandled: unknown[] = []
    const note = (reason: unknown) => void unhandled.push(reason)
    process.on('unhandledRejection', note)
    try {
      const app = await inboxOn(open(), (_, tx) =>
        commitUntyped(tx, async () => {
          throw new Error('no ink')
        }),
      )
      expect(await app.send(order)).toBe('500 failed')
      await turns(3)
      expect(unhandled).toEqual([])
    } finally {
      process.off('unhandledRejection', note)
    }
  })

  test('within its own effects throws, and nothing of either is kept', async () => {
    const app = await inboxOn(open(), (event, tx) =>
      tx.commit((db) => {
        insert(event)(db)
        tx.commit(insert(event))
      }),
    )
    expect(await app.send(order)).toMatch(/^50[03]/)
    expect([app.effects(), app.records()]).toEqual([[], []])
  })

  test.each([
    ['was handled', '200 handled', async () => {}, [KEY]],
    ['failed', '500 failed', async () => Promise.reject(new Error('no ink')), []],
  ])('that is called after the event %s throws, and does nothing', async (_, answer, end, records) => {
    const leaked = deferred<Tx>()
    const app = await inboxOn(open(), (_, tx) => {
      leaked.resolve(tx)
      return end()
    })
    expect(await app.send(order)).toBe(answer)
    const tx = await leaked.promise
    const error = await errorOf(() => tx.commit((db) => db.exec("INSERT INTO effects VALUES ('late')")))
    expect(error).toBeInstanceOf(TypeError)
    expect(String(error)).toMatch(/after the run had ended/)
    expect([app.effects(), app.records()]).toEqual([[], records])
  })
})

onEachDriver('the later of two overlapping handlers of one event', ({ open }) => {
  const thrown: unknown[] = []

  test.each<[does: string, answer: string, effects: string[], handler: Handler]>([
    ['commits', '200 handled', ['ord_a'], (event, tx) => tx.commit(insert(event))],
    ['swallows the error of its commit', '200 handled', ['ord_a'], (event, tx) => swallow(tx, insert(event))],
    [
      'throws something else in its place',
      '200 handled',
      ['ord_a'],
      async (event, tx) => {
        try {
          tx.commit(insert(event))
        } catch (error) {
          thrown.push(error)
          throw new Error('no ink')
        }
      },
    ],
    [
      'tries again after it',
      '200 handled',
      ['ord_a'],
      (event, tx) => {
        // After a first commit that succeeded, the second is refused.
        for (let time = 0; time < 2; time++) swallow(tx, insert(event))
      },
    ],
    ['never commits', '200 handled', [], () => {}],
    ['discards', '200 discarded', [], () => Promise.reject(new Discard('a test order'))],
  ])('that %s is a duplicate without effects', async (_, answer, effects, then) => {
    const signs: (() => void)[] = []
    let begun = deferred()
    /** Each run waits for its own sign. */
    const handler: Handler = async (event, tx, ctx) => {
      const sign = deferred()
      signs.push(sign.resolve)
      begun.resolve()
      await sign.promise
      return then(event, tx, ctx)
    }
    // Two connections, as two processes have.
    const apps = [await inboxOn(open(), handler), await inboxOn(open(), handler)] as const
    const sent: Promise<string>[] = []
    for (const app of apps) {
      sent.push(app.send(order))
      await begun.promise
      begun = deferred()
    }
    signs[1]?.()
    expect(await sent[1]).toBe(answer)
    signs[0]?.()
    expect(await sent[0]).toBe('200 duplicate')
    expect([apps[0].effects(), apps[0].records()]).toEqual([effects, [KEY]])
    expect(apps.flatMap(({ reports }) => reports)).toEqual([])
    for (const error of thrown.splice(0)) {
      expect(error).toBeInstanceOf(Discard)
      expect(String(error)).toMatch(/Another delivery has the event by now/)
    }
  })
})

onEachDriver('a store and an inbox on one table', ({ open }) => {
  test('know what the other has handled, and run nothing that the other runs', async () => {
    const db = open()
    const [store, inbox] = [sqliteStore(db), sqliteInbox(db)]
    await inbox.migrate()
    const once = (key: string, work = async () => {}) => inbox.once({ key, retainMs: DAY }, work)
    const lease = { key: 'stored', token: 'a' }
    await claim(store, 'stored', 'a')
    expect(await once('stored')).toEqual({ status: 'in_flight' })
    expect(await store.complete(lease, DAY)).toBe(true)
    expect(await once('stored')).toEqual({ status: 'duplicate' })
    expect(await once('in the inbox')).toEqual({ status: 'handled' })
    expect(await claim(store, 'in the inbox', 'a')).toEqual({ status: 'completed' })
    expect([await inbox.isHandled('stored'), await store.isHandled('in the inbox')]).toEqual([true, true])
    // A lease that began during the run.
    const overtaken = once('overtaken', () => claim(store, 'overtaken', 'b') as Promise<never>)
    expect(await overtaken).toEqual({ status: 'in_flight' })
    expect(await store.complete({ key: 'overtaken', token: 'b' }, DAY)).toBe(true)
  })

  test('keep the failure of a run until another has handled the event, though it was parked meanwhile', async () => {
    const inbox = sqliteInbox(open())
    await inbox.migrate()
    const request = { key: 'test/order.created/ord_1', retainMs: DAY }
    const failed = failedDelivery({ parkAfter: { attempts: 1 } })
    let run: OnceRun | undefined
    const handled = await inbox.once(request, async (_, given) => {
      run = given
      expect(await inbox.keep(failed)).toBe('parked')
      expect(await inbox.once(request, async () => expect.fail('It ran.'))).toEqual({ status: 'parked' })
    })
    expect([handled, run]).toEqual([{ status: 'handled' }, { attempt: 1 }])
    expect(await inbox.ledger.get(request.key)).toMatchObject({ state: 'handled', attempts: 2 })
    expect(await inbox.ledger.count()).toBe(0)
  })
})
