import type { PoolClient } from 'pg'
import { postgresInbox } from 'tix-webhooks/postgres'
import { describe, expect, test } from 'vitest'
import { transactionScope } from '../../../../stores/sql/transaction-scope.js'
import { onPostgres } from '../../../support/on-servers.js'
import { openPg } from '../../../support/postgres-clients.js'
import { testDatabase } from '../../../support/postgres-database.js'
import { never } from '../../../support/promises.js'

const OVER = /transaction of this delivery is over/

// pg answers a statement on a lost connection in a later turn, from its own object. An exception there ends the process, and
// fails the run of these tests as a whole.
onPostgres('the scope of a client of pg', () => {
  const database = testDatabase()

  test('leaves to pg what pg does in a later turn', async () => {
    const pool = openPg(database)
    const client = await pool.connect()
    const lost = new Promise((resolve) => client.on('error', resolve))
    const { rows } = await client.query('SELECT pg_backend_pid() AS pid')
    await database.query('SELECT pg_terminate_backend($1, 60000)', [rows[0].pid])
    await lost

    const { bind, lose } = transactionScope()
    const late = bind(client).query('SELECT 1')
    lose()
    await expect(late).rejects.toThrow('not queryable')
    client.release(true)
  })

  test('refuses what comes after the end, also through a method or a client that was taken out before', async () => {
    const client = await openPg(database).connect()
    const { bind, run } = transactionScope()
    const tx = bind(client)
    const { query } = tx
    const listened = tx.on('notice', () => {})
    await run(() => tx.query('SELECT 1'))
    for (const late of [() => tx.query('SELECT 1'), () => Reflect.apply(query, tx, ['SELECT 1'])]) {
      await expect(late()).rejects.toThrow(OVER)
    }
    await expect(listened.query('SELECT 1')).rejects.toThrow(OVER)
    client.release()
  })

  test('refuses as pg does: by a callback, or an error of the query that is given; and what nobody awaits ends no process', async () => {
    let tx: PoolClient | undefined
    await postgresInbox(openPg(database)).once({ key: null, retainMs: 1 }, async (given) => {
      tx = given as unknown as PoolClient
    })
    const late = tx as PoolClient
    void late.query('SELECT 1')
    expect(await new Promise((resolve) => late.query('SELECT 1', resolve))).toMatchObject({
      message: expect.stringMatching(OVER),
    })
    const refused = await new Promise<Error>((handleError) => {
      const query = { submit() {}, handleError }
      expect(late.query(query)).toBe(query)
    })
    expect(refused.message).toMatch(OVER)
  })
})

describe('a function that is given to the transaction', () => {
  interface Tx {
    readonly given: unknown[]
    query(sql: string): Promise<string>
    nested(work: (inner: Tx) => unknown): unknown
    map(row: string, read: (row: string) => unknown): unknown
    take(value: unknown): void
  }

  /** As pg-promise's, its methods cannot be replaced. */
  const transaction = (): Tx => {
    const given: unknown[] = []
    const tx: Tx = {
      given,
      query: async (sql) => sql,
      nested: (work) => work(tx),
      map: (row, read) => read(row),
      take: (value) => void given.push(value),
    }
    return Object.freeze(tx)
  }
  const settled = async (promise: unknown): Promise<boolean> => {
    let isSettled = false
    const settle = () => {
      isSettled = true
    }
    Promise.resolve(promise).then(settle, settle)
    await new Promise((resolve) => setTimeout(resolve, 5))
    return isSettled
  }

  test('is a builder of a query, or a stream, of which each call after the end leads to a promise that rejects', async () => {
    interface Builder extends PromiseLike<unknown>, AsyncIterable<unknown> {
      select(): Builder
      from(table: string): Builder
      on(event: string, listener: (value: unknown) => void): Builder
    }
    const { bind, run } = transactionScope()
    const tx = bind({ query() {}, select: () => ({}) }) as unknown as Builder
    await run(async () => {})
    await expect(tx.select().from('orders')).rejects.toThrow(OVER)
    const read = async (): Promise<void> => {
      for await (const _ of tx.select());
    }
    await expect(read()).rejects.toThrow(OVER)
    expect(await new Promise((resolve) => tx.select().on('end', resolve).on('error', resolve))).toMatchObject(
      {
        message: expect.stringMatching(OVER),
      },
    )
  })

  test('is not called after the end', async () => {
    const original = transaction()
    const { bind, run } = transactionScope()
    const tx = bind(original)
    let called = false
    const work = () => {
      called = true
    }
    await run(async () => tx.take(work))
    expect(await settled((original.given[0] as (inner: Tx) => unknown)(original))).toBe(false)
    expect(called).toBe(false)
  })

  test('has a transaction whose properties can be defined and deleted', () => {
    const { bind } = transactionScope()
    const original: Partial<Record<'kept', number>> & { query(): void } = { query() {} }
    const tx = bind(original)
    Object.defineProperty(tx, 'kept', { value: 1, configurable: true })
    expect([tx.kept, original.kept]).toEqual([1, 1])
    delete tx.kept
    expect('kept' in original).toBe(false)
  })

  test('must have ended when the handler returns', async () => {
    const { bind, run } = transactionScope()
    const tx = bind(transaction())
    await expect(run(async () => void tx.nested(() => never()))).rejects.toThrow(/returned while a nested/)
  })

  test('returns what it returns: a value at once, a promise later, a builder of queries without running it', async () => {
    const { bind, run } = transactionScope()
    const tx = bind(transaction())
    await run(async () => {
      expect(tx.map('1', Number)).toBe(1)
      expect(tx.map('1', (row) => [row])).toEqual(['1'])
      expect(await tx.nested((inner) => inner.query('SELECT 1'))).toBe('SELECT 1')
      expect(tx.nested((inner) => inner)).toBe(tx)
    })
  })

  test('is one and the same each time, and a class as it is', () => {
    const original = transaction()
    const tx = transactionScope().bind(original)
    const listener = (): void => {}
    class Order {}
    for (const value of [listener, listener, Order, 'text']) tx.take(value)
    const [first, second, third] = original.given
    expect(first).not.toBe(listener)
    expect(second).toBe(first)
    expect(third).toBe(Order)
  })
})
