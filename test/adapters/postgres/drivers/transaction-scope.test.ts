import { describe, expect, test } from 'vitest'
import { transactionScope } from '../../../../adapters/postgres/drivers/transaction-scope.js'
import { onPostgres } from '../../../support/on-servers.js'
import { openPg } from '../../../support/postgres-clients.js'
import { testDatabase } from '../../../support/postgres-database.js'

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

  test('refuses what comes after the end, also through a method that was taken out before', async () => {
    const pool = openPg(database)
    const client = await pool.connect()
    const { bind, run } = transactionScope()
    const tx = bind(client)
    const query = tx.query
    await run(() => tx.query('SELECT 1'))
    expect(() => tx.query('SELECT 1')).toThrow(OVER)
    expect(() => Reflect.apply(query, tx, ['SELECT 1'])).toThrow(OVER)
    client.release()
  })

  test('stays between the handler and pg where a method gives its own client back', async () => {
    const pool = openPg(database)
    const client = await pool.connect()
    const { bind, lose } = transactionScope()
    const tx = bind(client).on('notice', () => {})
    lose()
    expect(() => tx.query('SELECT 1')).toThrow(OVER)
    client.release()
  })
})

describe('the guard of a function', () => {
  test('refuses its calls after the end', () => {
    const { bind, lose } = transactionScope()
    const sql = bind((text: string) => `run: ${text}`)
    expect(sql('SELECT 1')).toBe('run: SELECT 1')
    lose()
    expect(() => sql('SELECT 1')).toThrow(OVER)
  })
})
