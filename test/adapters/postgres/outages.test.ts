import { isWebhookError } from 'tix-webhooks'
import { ddl, postgresStore } from 'tix-webhooks/postgres'
import { beforeAll, expect, test } from 'vitest'
import { atOnce } from '../../support/at-once.js'
import { orderCreated } from '../../support/deliveries.js'
import { freePort } from '../../support/free-port.js'
import { onPostgres } from '../../support/on-servers.js'
import {
  type ClientOptions,
  INBOX_CLIENTS,
  openPg,
  openPostgresJs,
  STORE_CLIENTS,
} from '../../support/postgres-clients.js'
import { testDatabase } from '../../support/postgres-database.js'
import { endpoint } from '../../support/postgres-endpoint.js'
import { SOON_HEADER } from '../../support/retry-after.js'

const CLAIM = { key: 'k', token: 't', leaseMs: 60_000, retainMs: 60_000 }
const UNAVAILABLE = { status: 503, outcome: 'unavailable', retryAfter: SOON_HEADER }

onPostgres('Postgres that cannot be used', () => {
  const database = testDatabase(ddl)

  // A built-in role: it may log in nowhere, but this user may become it, and it has no rights on our tables.
  beforeAll(() => database.query(`GRANT USAGE ON SCHEMA ${database.schema} TO pg_monitor`))

  test.each<[string, () => Promise<ClientOptions>, RegExp]>([
    [
      'is read-only, as a replica is',
      async () => ({ settings: { default_transaction_read_only: 'on' } }),
      /read-only, such as a replica: connect the pool to the primary/,
    ],
    [
      'gives this user no rights',
      async () => ({ settings: { role: 'pg_monitor' } }),
      /no rights on "\w+"\."tix_webhooks(_inbox)?": the app's needs SELECT, INSERT, UPDATE and DELETE/,
    ],
    [
      'is not there',
      async () => ({ port: await freePort() }),
      /There is no Postgres at the host and port.*is it up/,
    ],
  ])('because it %s: each call of a store says what to do', async (_, optionsOf, message) => {
    await atOnce(STORE_CLIENTS, async ({ open }) => {
      const store = open(database, await optionsOf()).store()
      for (const call of [
        () => store.claim(CLAIM),
        () => store.renew(CLAIM, 1),
        () => store.complete(CLAIM, 1),
        () => store.release(CLAIM),
        () => store.purge(),
      ]) {
        const error: unknown = await call().catch((thrown: unknown) => thrown)
        expect(isWebhookError(error) && error.code).toBe('store_unavailable')
        expect((error as Error).message).toMatch(message)
        expect((error as Error).cause).toBeInstanceOf(Error)
      }
    })
  })

  test('is answered 503 with an inbox, and reported once, over each library', () =>
    atOnce(INBOX_CLIENTS, async ({ open }) => {
      const inbox = open(database, { settings: { default_transaction_read_only: 'on' } }).inbox()
      const { send, reports } = await endpoint({
        inbox,
        on: { 'order.created': () => expect.fail('It ran') },
      })
      expect(await send(orderCreated())).toEqual(UNAVAILABLE)
      expect(reports.map(({ message }) => message)).toEqual([expect.stringMatching(/read-only/)])
    }))

  test('because the pool was ended, says so', async () => {
    const [pool, sql] = [openPg(database), openPostgresJs(database)]
    const stores = [postgresStore(pool), postgresStore(sql)]
    await Promise.all([pool.end(), sql.end()])
    for (const store of stores) {
      await expect(store.claim(CLAIM)).rejects.toThrow(/^The pool is closed: drain the receiver/)
    }
  })
})
