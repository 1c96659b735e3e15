import type { FailureState, KeptFailures } from 'tix-webhooks'
import { expect, onTestFinished, vi } from 'vitest'
import { openPg } from './postgres-clients.js'
import type { TestDatabase } from './postgres-database.js'

/** Keeps a failure while another transaction counts the same one on, and expects that both are counted: of one, three then. */
export async function expectBothCounted(
  database: TestDatabase,
  failures: Pick<KeptFailures, 'get'>,
  key: string,
  keep: () => Promise<FailureState | 'handled' | 'in_flight'>,
): Promise<void> {
  const other = await openPg(database).connect()
  onTestFinished(() => other.release())
  await other.query('BEGIN; UPDATE tix_webhooks_failures SET attempts = attempts + 1')
  const keeping = keep()
  await vi.waitFor(
    async () =>
      expect(
        await database.column(
          "SELECT count(*)::int FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%tix_webhooks_failures%' AND query LIKE '%raw_body%'",
        ),
      ).toEqual([1]),
    { timeout: 10_000 },
  )
  await other.query('COMMIT')
  expect(await keeping).toBe('failing')
  expect(await failures.get(key)).toMatchObject({ attempts: 3 })
}
