import { ddl } from 'tix-webhooks/postgres'
import { expect, test } from 'vitest'
import { listing } from '../../../../adapters/postgres/failures/statements.js'
import { onPostgres } from '../../../support/on-servers.js'
import { testDatabase } from '../../../support/postgres-database.js'

onPostgres('a table of failures without statistics, as after a bulk load', () => {
  const database = testDatabase(ddl)

  test.each(['orderId', 'eventId'] as const)('finds those of an id by its index: %s', async (name) => {
    await database.query(`
      ALTER TABLE tix_webhooks_failures SET (autovacuum_enabled = off);
      TRUNCATE tix_webhooks_failures;
      INSERT INTO tix_webhooks_failures
      SELECT 'test/' || n, 'test', null, 'k', 'id' || n, 'id' || n, now(), 0, 'c', 'c', 'm', 'failing', now(),
        now() - n * interval '1 s', 1, 0, null, ''
      FROM generate_series(1, 50000) AS n`)
    const statement = listing('tix_webhooks_failures', 'newest', { filter: [name] })
    const plan = await database.query(`EXPLAIN ${statement}`, [JSON.stringify({ [name]: 'id7' }), 1])
    const index = name === 'orderId' ? 'order_id' : 'event_id'
    expect(JSON.stringify(plan)).toContain(`tix_webhooks_failures_${index}`)
  })
})
