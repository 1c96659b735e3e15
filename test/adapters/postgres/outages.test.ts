import { type IdempotencyStore, isWebhookError } from 'tix-webhooks'
import { ddl, postgresInbox, postgresStore } from 'tix-webhooks/postgres'
import { beforeAll, describe, expect, test } from 'vitest'
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

  const outages: [string, () => Promise<ClientOptions>, RegExp][] = [
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
  ]

  describe.each(outages)('because it %s', (_, optionsOf, message) => {
    test.each(STORE_CLIENTS)('fails each call of a store over $name with what to do', async ({ open }) => {
      const store = open(database, await optionsOf()).store()
      const calls = [
        () => store.claim(CLAIM),
        () => store.renew(CLAIM, 1),
        () => store.complete(CLAIM, 1),
        () => store.release(CLAIM),
        () => store.purge(),
      ]
      for (const call of calls) {
        const error: unknown = await call().catch((thrown: unknown) => thrown)
        expect(isWebhookError(error) && error.code).toBe('store_unavailable')
        expect((error as Error).message).toMatch(message)
        expect((error as Error).cause).toBeInstanceOf(Error)
      }
    })

    test.each(STORE_CLIENTS)(
      'is answered 503 with a store over $name, and reported once',
      async ({ open }) => {
        const store: IdempotencyStore = open(database, await optionsOf()).store()
        let runs = 0
        const { send, reports } = await endpoint({ store, on: { 'order.created': () => runs++ } })
        expect(await send(orderCreated())).toEqual(UNAVAILABLE)
        expect(reports.map(({ code }) => code)).toEqual(['store_unavailable'])
        expect(reports[0]?.message).toMatch(message)
        expect(runs).toBe(0)
      },
    )

    test.each(INBOX_CLIENTS)(
      'is answered 503 with an inbox over $name, and reported once',
      async ({ open }) => {
        const inbox = open(database, await optionsOf()).inbox()
        let runs = 0
        const { send, reports } = await endpoint({ inbox, on: { 'order.created': () => runs++ } })
        expect(await send(orderCreated())).toEqual(UNAVAILABLE)
        expect(reports.map(({ code }) => code)).toEqual(['store_unavailable'])
        expect(reports[0]?.message).toMatch(message)
        expect(runs).toBe(0)
      },
    )
  })

  describe('because the pool was ended', () => {
    const ended: [string, () => Promise<[IdempotencyStore, ReturnType<typeof postgresInbox>]>][] = [
      [
        'pg',
        async () => {
          const pool = openPg(database)
          await pool.end()
          return [postgresStore(pool), postgresInbox(pool)]
        },
      ],
      [
        'postgres.js',
        async () => {
          const sql = openPostgresJs(database)
          await sql.end()
          return [postgresStore(sql), postgresInbox(sql)]
        },
      ],
    ]

    test.each(ended)('is answered 503 over %s, with what to do', async (_, open) => {
      const [store, inbox] = await open()
      for (const protection of [{ store }, { inbox }]) {
        let runs = 0
        const { send, reports } = await endpoint<unknown>({
          ...protection,
          on: { 'order.created': () => runs++ },
        })
        expect(await send(orderCreated())).toEqual(UNAVAILABLE)
        expect(reports.map(({ code }) => code)).toEqual(['store_unavailable'])
        expect(reports[0]?.message).toMatch(/The pool is closed: drain the receiver before you end it/)
        expect(runs).toBe(0)
      }
    })
  })

  test('is not taken for a closed pool when it ends the connection', async () => {
    const pool = openPg(database, { max: 1 })
    const store = postgresStore(pool)
    await store.claim(CLAIM)
    const { rows } = await pool.query('SELECT pg_backend_pid() AS pid')
    const waiting = pool.query('SELECT pg_sleep(600)').catch((error: unknown) => error)
    while (
      (
        await database.query(
          "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid = $1 AND query LIKE '%pg_sleep%'",
          [rows[0]?.pid],
        )
      ).length === 0
    );
    await waiting
    expect(await store.claim({ ...CLAIM, token: 'u' })).toMatchObject({ status: 'in_flight' })
  })
})
