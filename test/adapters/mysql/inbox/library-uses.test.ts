import { ddl, type MysqlInbox } from 'tix-webhooks/mysql'
import { afterAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { orderCreated, SECRET } from '../../../support/deliveries.js'
import { deadlock, MYSQL_EFFECTS } from '../../../support/inbox-harnesses.js'
import { testMysqlDatabase } from '../../../support/mysql-database.js'
import { insertOrder, MYSQL_LIBRARIES, openMysqlLibrary } from '../../../support/mysql-libraries.js'
import { onMysql } from '../../../support/on-servers.js'
import { endpoint } from '../../../support/postgres-endpoint.js'

const HANDLED = { status: 200, outcome: 'handled' }

onMysql('a handler of mysqlInbox', () => {
  const database = testMysqlDatabase(
    'CREATE TABLE orders (id VARCHAR(191) PRIMARY KEY)',
    ...MYSQL_EFFECTS,
    ddl,
  )
  const written = (): Promise<unknown[]> => database.column('SELECT id FROM orders ORDER BY id')
  const recorded = (): Promise<unknown[]> => database.column('SELECT `key` FROM tix_webhooks_inbox')

  beforeEach(async () => {
    vi.stubEnv('TIX_SIGNING_SECRET', SECRET)
    vi.stubEnv('DATABASE_URL', database.url)
    for (const method of ['log', 'warn'] as const) vi.spyOn(console, method).mockImplementation(() => {})
    for (const table of ['orders', 'tix_webhooks_inbox', 'tix_webhooks_inbox_newest']) {
      await database.query(`DELETE FROM ${table}`)
    }
    return () => {
      vi.unstubAllEnvs()
      vi.restoreAllMocks()
    }
  })

  interface Uses {
    readonly inbox: MysqlInbox<never>
    readonly opened: never
    run(tx: never, statement: string): Promise<unknown>
    write(tx: never, id: string): Promise<unknown>
  }

  describe.each(MYSQL_LIBRARIES)('over $name', (library) => {
    /** Drizzle is in a transaction of the pool of mysql2, and Objection in one of Knex. */
    const isOfAnother = ['Drizzle', 'Objection'].includes(library.name)
    let opened: ReturnType<typeof openMysqlLibrary> | undefined
    afterAll(async () => {
      if (opened !== undefined) await library.close((await opened) as never)
    })

    /** One for all tests, but for one that goes through a proxy. */
    async function open(url: string | undefined) {
      if (url === undefined) {
        opened ??= openMysqlLibrary(library, database.url)
        return opened
      }
      vi.stubEnv('DATABASE_URL', url)
      const found = await openMysqlLibrary(library, url)
      onTestFinished(async () => void (await library.close(found as never)))
      return found
    }

    /** An endpoint whose handler gets what it can use of the library, and the number of its run. */
    async function over(handler: (tx: never, uses: Uses, run: number) => unknown, url?: string) {
      const found = await open(url)
      const run = async (tx: never, statement: string) => library.run(tx, statement, found as never)
      const write = (tx: never, id: string) => run(tx, insertOrder(id))
      const uses: Uses = { inbox: found.inbox, opened: found as never, run, write }
      let runs = 0
      const on = {
        'order.created': async (_: unknown, { tx }: { tx: never }) => void (await handler(tx, uses, ++runs)),
      }
      return endpoint<never>({ inbox: found.inbox, on })
    }

    test.each(['returns', 'throws'])('leaves a nested transaction open, and %s', async (end) => {
      const { send } = await over(async (tx, { write, opened }, run) => {
        await write(tx, `run ${run}`)
        if (run > 1) return
        await library.leaveOpen(tx, opened)
        if (end === 'throws') throw new Error('later')
      })
      const [first, second] = [orderCreated({ id: 'first' }), orderCreated({ id: 'second' })]
      // TypeORM would end the nested one alone.
      const isLeft = library.name === 'TypeORM'
      expect((await send(first)).status).toBe(end === 'throws' ? 500 : isLeft ? 503 : 200)
      const kept = end === 'throws' || isLeft ? [] : ['run 1']
      expect(await written()).toEqual(kept)
      expect(await send(second)).toEqual(HANDLED)
      expect(await written()).toEqual([...kept, 'run 2'])
      const again = await send(first)
      expect([again.outcome, (await written()).length]).toEqual([
        kept.length > 0 ? 'duplicate' : 'handled',
        2,
      ])
    })

    describe('asks isNewest', () => {
      const at = '2026-05-17T14:02:11Z'

      test.each(Object.entries(library.nested))(
        'in its transaction, and in a nested one: %s',
        async (way, nested) => {
          const answers: unknown[] = []
          const { send } = await over(async (tx, { inbox, opened }) => {
            answers.push(await inbox.isNewest(tx, { subject: 'a', at }))
            await nested(
              tx,
              async (inner) => {
                answers.push(await inbox.isNewest(tx, { subject: 'b', at }))
                answers.push(await inbox.isNewest(inner, { subject: 'c', at }).catch(String))
              },
              opened,
            )
          })
          expect(await send(orderCreated())).toEqual(HANDLED)
          const isSeen = library.unseen?.includes(way) !== true
          expect(answers).toEqual([
            true,
            true,
            isSeen ? true : expect.stringMatching(/^TypeError: .* pass ctx.tx itself/),
          ])
          expect(await database.column('SELECT COUNT(*) FROM tix_webhooks_inbox_newest')).toEqual([
            isSeen ? 3 : 2,
          ])
        },
      )

      test('outside of them, and is refused', async () => {
        const refusals: unknown[] = []
        let earlier: never | undefined
        const { send } = await over(async (tx, { inbox, opened }) => {
          for (const outside of [library.outside(opened) as never, earlier ?? tx]) {
            refusals.push(await inbox.isNewest(outside, { subject: 'a', at }).catch(String))
          }
          earlier ??= tx
        })
        expect(await send(orderCreated())).toEqual(HANDLED)
        expect(await send(orderCreated({ id: 'second' }))).toEqual(HANDLED)
        const outside = expect.stringMatching(
          /^TypeError: isNewest was not called in the transaction of the inbox/,
        )
        expect(refusals).toEqual([outside, true, outside, expect.stringMatching(/not called in|is over/)])
      })
    })

    test.skipIf(isOfAnother)('creates a table, and is told that it committed', async () => {
      await database.query('DROP TABLE IF EXISTS surprise')
      const { send, reports } = await over(async (tx, { run, write }, count) => {
        await write(tx, `run ${count}`)
        // Hidden, as in a procedure: a pool refuses what is plain.
        if (count === 1) await run(tx, '/*! CREATE TABLE surprise (id INT) */')
      })
      const order = orderCreated()
      expect((await send(order)).status).toBe(503)
      expect(reports[0]?.message).toMatch(/^The handler COMMITTED the transaction of the inbox/)
      expect(await recorded()).toEqual([])
      expect(await send(order)).toEqual(HANDLED)
    })

    test.skipIf(isOfAnother)('swallows a deadlock, and is not acknowledged', async () => {
      const { send, reports } = await over(async (tx, { run, write }, count) => {
        await write(tx, `early ${count}`)
        if (count === 1) await deadlock(database, (statement) => run(tx, statement)).catch(() => {})
        await write(tx, `late ${count}`)
      })
      const order = orderCreated()
      const isRefused = library.afterDeadlock === 'refused'
      expect((await send(order)).status).toBe(isRefused ? 500 : 503)
      expect(reports[0]?.message).toMatch(
        isRefused
          ? /^rollback has been called on this transaction/
          : /rolled back the transaction in the middle of the handler/,
      )
      // The server commits each further statement by itself, unless autocommit is off.
      const loose = library.afterDeadlock === 'committed' ? ['late 1'] : []
      expect([await written(), await recorded()]).toEqual([loose, []])
      expect(await send(order)).toEqual(HANDLED)
      expect(await written()).toEqual(['early 2', 'late 2', ...loose].sort())
    })
  })
})
