import { Discard } from 'tix-webhooks'
import { ddl, mysqlInbox } from 'tix-webhooks/mysql'
import { beforeEach, describe, expect, test } from 'vitest'
import { type TestMysqlConnection, testMysqlDatabase } from '../../../support/mysql-database.js'
import { onMysql } from '../../../support/on-servers.js'
import { deferred } from '../../../support/promises.js'
import { type AnyPool, POOLS, untilWaiting } from '../pools.js'

const ONCE = { key: 'k', retainMs: 3_600_000 }
const HANDLED = { status: 'handled' }

/** What the tests use of `ctx.tx`, whatever the client. */
interface Tx {
  query(sql: string | { sql: string }): Promise<unknown>
  execute(sql: string): Promise<unknown>
  [method: string]: unknown
}

onMysql('the transaction of an inbox', () => {
  const database = testMysqlDatabase(
    'CREATE TABLE effects (id VARCHAR(100) PRIMARY KEY)',
    'CREATE TABLE contended (id INT PRIMARY KEY, n INT NOT NULL)',
    ddl,
  )
  const effects = (): Promise<unknown[]> => database.column('SELECT id FROM effects ORDER BY id')
  const recorded = (): Promise<unknown[]> =>
    database.column('SELECT CAST(`key` AS CHAR) FROM tix_webhooks_inbox')

  beforeEach(async () => {
    for (const table of ['effects', 'contended', 'tix_webhooks_inbox'])
      await database.query(`DELETE FROM ${table}`)
    await database.query('INSERT INTO contended VALUES (1, 0), (2, 0)')
  })

  const insert = (tx: unknown, id: string): Promise<unknown> =>
    (tx as unknown as Tx).query(`INSERT INTO effects VALUES ('${id}')`)

  /** As a procedure would hide it: what is plain is refused. */
  const hidden = (statement: string): string => `/*! ${statement} */`

  const DDL = [
    'CREATE OR REPLACE VIEW seen AS SELECT 1 AS one',
    'CREATE TABLE made (id INT)',
    'ALTER TABLE made ADD n INT',
    'TRUNCATE made',
    'DROP TABLE made',
    'ANALYZE TABLE effects',
  ]
  const ENDS: readonly (readonly [string, () => void])[] = [
    ['returns', () => {}],
    [
      'throws',
      () => {
        throw new Error('mine')
      },
    ],
    [
      'discards',
      () => {
        throw new Discard()
      },
    ],
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
            end()
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
        await database.query("UPDATE tix_webhooks_inbox SET run = 'of another'")
      })
      await expect(once).rejects.toMatchObject({ code: 'rolled_back' })
      expect(await recorded()).toEqual(['k'])
    })

    /** A deadlock between a handler and another session, which the server ends by rolling back that of the handler. */
    async function deadlock(tx: Tx, other: TestMysqlConnection): Promise<void> {
      await other.query('START TRANSACTION')
      // It has written more, so that the server ends the one of the handler.
      for (let i = 0; i < 9; i++) await other.query(`INSERT INTO contended VALUES (${10 + i}, 0)`)
      await other.query('UPDATE contended SET n = 1 WHERE id = 2')
      await tx.query('UPDATE contended SET n = 1 WHERE id = 1')
      const waiting = other.query('UPDATE contended SET n = 1 WHERE id = 1')
      await untilWaiting(database, 'UPDATE contended SET n = 1 WHERE id = 1')
      try {
        await tx.query('UPDATE contended SET n = 1 WHERE id = 2')
      } finally {
        await waiting
        await other.query('ROLLBACK')
      }
    }

    test.each([
      ['leaves it', false],
      ['swallows it, and goes on', true],
    ])('is never acknowledged after a deadlock when the handler %s', async (_, isSwallowed) => {
      const inbox = mysqlInbox(open(database))
      await using other = await database.connect()
      const once = inbox.once(ONCE, async (tx) => {
        await insert(tx, 'before')
        const dead = deadlock(tx as unknown as Tx, other)
        if (!isSwallowed) return dead
        await dead.catch(() => {})
        await insert(tx, 'after')
      })
      await expect(once).rejects.toMatchObject(
        isSwallowed
          ? {
              code: 'rolled_back',
              message: expect.stringMatching(
                /^The database rolled back the transaction in the middle of the handler/,
              ),
            }
          : { errno: 1213 },
      )
      expect([await effects(), await recorded()]).toEqual([[], []])
      expect(await inbox.once(ONCE, async (tx) => void (await insert(tx, 'again')))).toEqual(HANDLED)
      expect(await effects()).toEqual(['again'])
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

    test('refuses DDL before it is sent, and so commits nothing', async () => {
      const inbox = mysqlInbox(open(database))
      const once = inbox.once(ONCE, async (given) => {
        const tx = given as unknown as Tx
        await insert(tx, 'written')
        for (const statement of [...DDL, 'LOCK TABLES effects WRITE', 'RENAME TABLE effects TO other']) {
          expect(() => tx.query(statement), statement).toThrow(/^This statement commits by itself/)
        }
        await tx.query('CREATE TEMPORARY TABLE mine (id INT)')
        await tx.query('DROP TEMPORARY TABLE mine')
      })
      expect(await once).toEqual(HANDLED)
      expect(await effects()).toEqual(['written'])
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

    test('refuses what would begin or end it before it is sent, by any method', async () => {
      const inbox = mysqlInbox(open(database))
      const once = inbox.once(ONCE, async (given) => {
        const tx = given as unknown as Tx
        await insert(tx, 'written')
        for (const [statement, method] of REFUSED) {
          // Not every client has all methods.
          if (method !== 'options' && tx[method] === undefined) continue
          const send = () =>
            method === 'options' ? tx.query({ sql: statement }) : (tx[method] as Tx['execute'])(statement)
          expect(send, `${method} ${statement}`).toThrow(TypeError)
          expect(send, `${method} ${statement}`).toThrow(
            /^ctx\.tx is in the transaction of the inbox, so it can neither begin nor end one/,
          )
        }
        for (const method of ['release', 'end', 'destroy', 'close', 'changeUser', 'reset']) {
          expect(() => (tx[method] as () => void)(), method).toThrow(
            /which releases it itself: remove release\(\)/,
          )
        }
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

    describe('gives its session back as it was', () => {
      /** Of the only connection of a pool. */
      async function stateOf(pool: AnyPool): Promise<unknown[]> {
        const connection = await pool.getConnection()
        try {
          const answer = (await connection.query({
            sql: 'SELECT @@autocommit, @@wait_timeout, CONNECTION_ID()',
            rowsAsArray: true,
          })) as unknown[]
          const rows = (
            Array.isArray(answer[0]) && Array.isArray(answer[0][0]) ? answer[0] : answer
          ) as unknown[][]
          return (rows[0] as unknown[]).map(Number)
        } finally {
          await connection.release()
        }
      }

      const inside: unknown[] = []
      const fails = async (): Promise<never> => {
        throw new Error('mine')
      }
      const rows: [string, (inbox: ReturnType<typeof mysqlInbox>, key: string) => Promise<unknown>][] = [
        [
          'a success',
          (inbox, key) => inbox.once({ ...ONCE, key }, async (tx) => void (await insert(tx, key))),
        ],
        ['a handler without a key', (inbox) => inbox.once({ ...ONCE, key: null }, async () => {})],
        ['an error', (inbox, key) => inbox.once({ ...ONCE, key }, fails).catch(() => {})],
        ['a discard', (inbox, key) => inbox.once({ ...ONCE, key }, () => Promise.reject(new Discard()))],
        ['a duplicate', (inbox) => inbox.once({ ...ONCE, key: 'a success' }, fails)],
        [
          'its settings changed',
          (inbox, key) =>
            inbox.once({ ...ONCE, key }, async (tx) => {
              await (tx as unknown as Tx).query('SET wait_timeout = 77')
            }),
        ],
        ['a look at a record', (inbox, key) => inbox.isHandled(key)],
        ['a check', (inbox) => inbox.check()],
      ]

      test('after each end, on the same connection', async () => {
        const pool = open(database, { connectionLimit: 1, session: ['SET wait_timeout = 4321'] })
        const inbox = mysqlInbox(pool, { idleTimeoutSeconds: 7 })
        const before = await stateOf(pool)
        expect(before.slice(0, 2)).toEqual([1, 4321])
        await inbox.once({ ...ONCE, key: null }, async (tx) => {
          const answer = await (tx as unknown as Tx).query({
            sql: 'SELECT @@autocommit AS a, @@wait_timeout AS b',
          })
          inside.push(
            JSON.stringify([answer].flat(2)[0], (_, value) =>
              typeof value === 'bigint' ? Number(value) : value,
            ),
          )
        })
        expect(inside.splice(0)).toEqual(['{"a":0,"b":7}'])
        for (const [name, use] of rows) {
          await use(inbox, name)
          expect([name, await stateOf(pool)]).toEqual([name, before])
        }
        // Its own limit is lower.
        const low = open(database, { connectionLimit: 1, session: ['SET wait_timeout = 3'] })
        await mysqlInbox(low).once({ ...ONCE, key: 'low' }, async () => {})
        expect((await stateOf(low)).slice(0, 2)).toEqual([1, 3])
      })

      test('after a delivery of an event that is in flight', async () => {
        const [pool, other] = [open(database, { connectionLimit: 1 }), open(database, { connectionLimit: 1 })]
        const before = await stateOf(pool)
        const [entered, leave] = [deferred(), deferred()]
        const running = mysqlInbox(other).once(ONCE, () => {
          entered.resolve()
          return leave.promise
        })
        await entered.promise
        expect(await mysqlInbox(pool).once(ONCE, fails)).toEqual({ status: 'in_flight' })
        expect(await stateOf(pool)).toEqual(before)
        leave.resolve()
        await running
      })
    })
  })
})
