import type { PoolClient } from 'pg'
import { postgresInbox } from 'tix-webhooks/postgres'
import { expect, test } from 'vitest'
import { onPostgres } from '../../../support/on-servers.js'
import { openPg } from '../../../support/postgres-clients.js'
import { testDatabase } from '../../../support/postgres-database.js'

const OVER = /transaction of this delivery is over/

onPostgres('the client that a handler gets from pg', () => {
  const database = testDatabase()

  /** The client of a handler that has returned, what it took out of it before, and the client behind. */
  async function lateClient() {
    const pool = openPg(database, { max: 1 })
    let query: PoolClient['query'] | undefined
    let listened: PoolClient | undefined
    let tx: PoolClient | undefined
    await postgresInbox(pool).once({ key: null, retainMs: 1 }, async (given) => {
      tx = given as unknown as PoolClient
      query = tx.query
      listened = tx.on('notice', () => {})
    })
    return { pool, tx: tx as PoolClient, query: query as PoolClient['query'], listened }
  }

  test('refuses what comes after the end, also through a method or a client that was taken out before', async () => {
    const { tx, query, listened } = await lateClient()
    const lates = [
      () => tx.query('SELECT 1'),
      () => Reflect.apply(query, tx, ['SELECT 1']) as Promise<unknown>,
      async () => listened?.query('SELECT 1'),
    ]
    for (const late of lates) await expect(late()).rejects.toThrow(OVER)
  })
})
