import type { TransactionSql } from 'postgres'
import { ddl, postgresInbox } from 'tix-webhooks/postgres'
import { expect, test } from 'vitest'
import { onPostgres } from '../../../support/on-servers.js'
import { openPostgresJs } from '../../../support/postgres-clients.js'
import { testDatabase } from '../../../support/postgres-database.js'

onPostgres('the transaction object of a savepoint of postgres.js', () => {
  const database = testDatabase('CREATE TABLE effects (id text PRIMARY KEY)', ddl)
  const once = { key: 'k', retainMs: 60_000 }

  test('works while the transaction does, and refuses what comes after it', async () => {
    const inbox = postgresInbox(openPostgresJs(database))
    let inner: TransactionSql | undefined
    const work = async (tx: TransactionSql): Promise<void> => {
      const written = await tx.savepoint(async (savepoint) => {
        inner = savepoint
        return savepoint`INSERT INTO effects VALUES ('in time') RETURNING id`
      })
      expect([...written]).toEqual([{ id: 'in time' }])
    }
    expect(await inbox.once(once, work)).toEqual({ status: 'handled' })
    expect(() => inner?.unsafe("INSERT INTO effects VALUES ('late')")).toThrow(
      /transaction of this delivery is over/,
    )
    expect(await database.column('SELECT id FROM effects')).toEqual(['in time'])
  })
})
