import { Discard } from 'tix-webhooks'
import { ddl, mysqlInbox } from 'tix-webhooks/mysql'
import { beforeEach, describe, expect, test } from 'vitest'
import { failedDelivery } from '../../../support/failed-delivery.js'
import { testMysqlDatabase } from '../../../support/mysql-database.js'
import { onMysql } from '../../../support/on-servers.js'
import { deferred } from '../../../support/promises.js'
import { type AnyPool, POOLS } from '../pools.js'

const ONCE = { key: 'k', retainMs: 3_600_000 }
const HANDLED = { status: 'handled' }

/** The part of `ctx.tx` that the tests use, whatever the client. */
interface Tx {
  query(sql: string | { sql: string }): Promise<unknown>
  execute(sql: string): Promise<unknown>
  [method: string]: unknown
}

onMysql('the transaction of an inbox', () => {
  const database = testMysqlDatabase('CREATE TABLE effects (id VARCHAR(100) PRIMARY KEY)', ddl)
  const effects = (): Promise<unknown[]> => database.column('SELECT id FROM effects ORDER BY id')
  const recorded = (): Promise<unknown[]> =>
    database.column('SELECT CAST(event_key AS CHAR) FROM tix_webhooks_events')

  beforeEach(async () => {
    for (const table of ['effects', 'tix_webhooks_events']) await database.query(`DELETE FROM ${table}`)
  })

  const insert = (tx: unknown, id: string): Promise<unknown> =>
    (tx as unknown as Tx).query(`INSERT INTO effects VALUES ('${id}')`)

  /** As a procedure would hide it: what is plain is refused. */
  const hidden = (statement: string): string => `/*! ${statement} */`

  const DDL = [
    'CREATE OR REPLACE VIEW seen AS SELECT 1 AS one',
    'CREATE TABLE made (id INT PRIMARY KEY)',
    'ALTER TABLE made ADD n INT',
    'TRUNCATE made',
    'DROP TABLE made',
    'ANALYZE TABLE effects',
  ]
  const ENDS: readonly (readonly [string, () => unknown])[] = [
    ['returns', () => {}],
    ['throws', () => Promise.reject(new Error('mine'))],
    ['discards', () => Promise.reject(new Discard())],
  ]

  describe.each(POOLS)('over $name', ({ open }) => {
    test.each(ENDS)(
      'that DDL of a handler has committed is noticed, and its record withdrawn, when it then %s',
      async (name, end) => {
        const inbox = mysqlInbox(open(database))
        for (const statement of name === 'returns' ? DDL : DDL.slice(0, 1)) {
          const once = inbox.once(ONCE, async (tx) => {
            await insert(tx, `before ${statement}`)
            await (tx as unknown as Tx).query(hidden(statement))
            await insert(tx, `after ${statement}`)
            await end()
          })
          await expect(once).rejects.toMatchObject({
            code: 'rolled_back',
            message: expect.stringMatching(
              /^The handler COMMITTED the transaction of the inbox in the middle: by CREATE/,
            ),
          })
          expect(await recorded()).toEqual([])
          expect(await inbox.isHandled('k')).toBe(false)
          // As the message says.
          expect(await effects()).toEqual([`before ${statement}`])
          await database.query('DELETE FROM effects')
        }
        expect(await inbox.once(ONCE, async (tx) => void (await insert(tx, 'again')))).toEqual(HANDLED)
        expect(await effects()).toEqual(['again'])
      },
    )

    test('that DDL has committed withdraws no record of another run', async () => {
      const inbox = mysqlInbox(open(database))
      const once = inbox.once(ONCE, async (tx) => {
        await (tx as unknown as Tx).query(hidden('CREATE OR REPLACE VIEW seen AS SELECT 1 AS one'))
        await database.query("UPDATE tix_webhooks_events SET token = 'of another'")
      })
      await expect(once).rejects.toMatchObject({ code: 'rolled_back' })
      expect(await recorded()).toEqual(['k'])
    })

    test('that DDL has committed is withdrawn though its connection is lost', async () => {
      const inbox = mysqlInbox(open(database))
      const once = inbox.once(ONCE, async (given) => {
        const tx = given as unknown as Tx
        await insert(tx, 'before')
        await tx.query(hidden('CREATE OR REPLACE VIEW seen AS SELECT 1 AS one'))
        await tx.query('KILL CONNECTION_ID()').catch(() => {})
        await new Promise(() => {})
      })
      await expect(once).rejects.toMatchObject({ code: 'rolled_back' })
      expect(await recorded()).toEqual([])
    })

    test('leaves no locked tables to the next one', async () => {
      const inbox = mysqlInbox(open(database, { connectionLimit: 1 }))
      const once = inbox.once(ONCE, async (given) => {
        await (given as unknown as Tx).query(hidden('LOCK TABLES effects WRITE'))
      })
      await expect(once).rejects.toMatchObject({ code: 'rolled_back' })
      expect(await inbox.once(ONCE, async (tx) => void (await insert(tx, 'again')))).toEqual(HANDLED)
    })

    const REFUSED = [
      ['BEGIN', 'query'],
      ['begin work', 'query'],
      [' \n\tBegin', 'query'],
      ['START TRANSACTION', 'query'],
      ['start  transaction read only', 'execute'],
      ['COMMIT', 'query'],
      ['commit and chain', 'query'],
      ['-- a comment\nCOMMIT', 'query'],
      ['/* one */ # two\n /* three\n */ commit', 'query'],
      ['ROLLBACK', 'query'],
      ['rollback work', 'execute'],
      ['XA START "x"', 'query'],
      ['SET autocommit = 1', 'query'],
      ['set @@session.autocommit=1', 'query'],
      ['SET @a = 1, AUTOCOMMIT = ON', 'query'],
      ['COMMIT', 'options'],
      ['COMMIT', 'batch'],
      ['', 'beginTransaction'],
      ['', 'commit'],
      ['', 'rollback'],
    ] as const

    test('refuses what would begin or end it, or commit, before it is sent, by any method', async () => {
      const inbox = mysqlInbox(open(database))
      const once = inbox.once(ONCE, async (given) => {
        const tx = given as unknown as Tx
        await insert(tx, 'written')
        const expectRefused = (send: () => unknown, what: string, message: RegExp): void => {
          expect(send, what).toThrow(TypeError)
          expect(send, what).toThrow(message)
        }
        for (const [statement, method] of REFUSED) {
          // Not every client has all methods.
          if (method !== 'options' && tx[method] === undefined) continue
          const send = () =>
            method === 'options' ? tx.query({ sql: statement }) : (tx[method] as Tx['execute'])(statement)
          const message = /^ctx\.tx is in the transaction of the inbox, so it can neither begin nor end one/
          expectRefused(send, `${method} ${statement}`, message)
        }
        for (const statement of [...DDL, 'LOCK TABLES effects WRITE', 'RENAME TABLE effects TO other']) {
          expectRefused(() => tx.query(statement), statement, /^This statement commits by itself/)
        }
        for (const method of ['release', 'end', 'destroy', 'close', 'changeUser', 'reset']) {
          const message = /which releases it itself: remove release\(\)/
          expectRefused(() => (tx[method] as () => void)(), method, message)
        }
        await tx.query('CREATE TEMPORARY TABLE mine (id INT PRIMARY KEY)')
        await tx.query('DROP TEMPORARY TABLE mine')
      })
      expect(await once).toEqual(HANDLED)
      expect([await effects(), await recorded()]).toEqual([['written'], ['k']])
    })

    test('allows savepoints, and statements that only look like an end', async () => {
      const inbox = mysqlInbox(open(database))
      const once = inbox.once(ONCE, async (given) => {
        const tx = given as unknown as Tx
        await insert(tx, 'kept')
        for (const name of ['mine', 'tix_webhooks_2']) {
          await tx.query(`SAVEPOINT ${name}`)
          await insert(tx, 'undone')
          await tx.query(`ROLLBACK TO ${name}`)
          await tx.query(`rollback work to savepoint ${name}`)
          await tx.query(`RELEASE SAVEPOINT ${name}`)
        }
        await tx.query('BEGIN NOT ATOMIC SELECT 1; END').catch(() => {})
        await tx.query("SET @note = 'kept'")
        await tx.query({ sql: "SELECT 'COMMIT'" })
      })
      expect(await once).toEqual(HANDLED)
      expect(await effects()).toEqual(['kept'])
    })

    /** That of the only connection of a pool. */
    async function sessionOf(pool: AnyPool): Promise<number[]> {
      const connection = await pool.getConnection()
      const answer = await connection.query({
        sql: 'SELECT @@autocommit, @@wait_timeout, CONNECTION_ID()',
        rowsAsArray: true,
      })
      await connection.release()
      return [answer].flat(3).slice(0, 3).map(Number)
    }

    // With autocommit off, the app relies on its own ROLLBACK.
    test.each([1, 0])(
      'gives its session back as it was after each end, on the same connection: autocommit %i',
      async (autocommit) => {
        const session = ['SET wait_timeout = 4321', `SET autocommit = ${autocommit}`]
        const pool = open(database, { connectionLimit: 1, session })
        const inbox = mysqlInbox(pool, { idleTimeoutSeconds: 7 })
        const before = await sessionOf(pool)
        expect(before.slice(0, 2)).toEqual([autocommit, 4321])
        const fails = async (): Promise<never> => {
          throw new Error('mine')
        }
        const uses: Record<string, (key: string) => Promise<unknown>> = {
          'a success': (key) => inbox.once({ ...ONCE, key }, async (tx) => void (await insert(tx, key))),
          'a handler without a key': () => inbox.once({ ...ONCE, key: null }, async () => {}),
          'an error': (key) => inbox.once({ ...ONCE, key }, fails).catch(() => {}),
          'a discard': (key) => inbox.once({ ...ONCE, key }, () => Promise.reject(new Discard())),
          'a duplicate': () => inbox.once({ ...ONCE, key: 'a success' }, fails),
          'its settings, which were changed': (key) =>
            inbox.once({ ...ONCE, key }, async (tx) => {
              const seen = await (tx as unknown as Tx).query('SELECT @@autocommit AS a, @@wait_timeout AS b')
              expect(Object.values([seen].flat(2)[0] as object).map(Number)).toEqual([0, 7])
              await (tx as unknown as Tx).query('SET wait_timeout = 77')
            }),
          'a delivery that is in flight': async (key) => {
            const [entered, leave] = [deferred(), deferred()]
            const running = mysqlInbox(open(database)).once({ ...ONCE, key }, () => {
              entered.resolve()
              return leave.promise
            })
            await entered.promise
            expect(await inbox.once({ ...ONCE, key }, fails)).toEqual({ status: 'in_flight' })
            leave.resolve()
            await running
          },
          'a look at a record': (key) => inbox.isHandled(key),
          'a check': () => inbox.check(),
          'a failure': async () => inbox.keep(failedDelivery()),
        }
        for (const [name, use] of Object.entries(uses)) {
          await use(name)
          expect([name, await sessionOf(pool)]).toEqual([name, before])
        }
        // Its own limit is lower.
        const low = open(database, { connectionLimit: 1, session: ['SET wait_timeout = 3'] })
        await mysqlInbox(low).once({ ...ONCE, key: 'low' }, async () => {})
        expect((await sessionOf(low)).slice(0, 2)).toEqual([1, 3])
      },
    )

    test('shares a lock with few other events: one of the same slot is in flight, and is handled after it', async () => {
      const [slot] = await database.column("SELECT CRC32('k') % 65536")
      const [other] = await database.column(
        `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 900)
       SELECT CONCAT('k', a.i * 1000 + b.i) FROM n AS a JOIN n AS b WHERE CRC32(CONCAT('k', a.i * 1000 + b.i)) % 65536 = ${slot} LIMIT 1`,
      )
      const inbox = mysqlInbox(open(database))
      const request = { ...ONCE, key: String(other) }
      const handler = async (tx: unknown) => void (await insert(tx, 'other'))
      await inbox.once(ONCE, async (tx) => {
        await insert(tx, 'k')
        expect(await inbox.once(request, handler)).toEqual({ status: 'in_flight' })
      })
      expect(await inbox.once(request, handler)).toEqual(HANDLED)
      expect(await effects()).toEqual(['k', 'other'])
    })
  })
})
