import { Kysely, PostgresDialect } from 'kysely'
import type { PoolClient } from 'pg'
import { postgresInbox } from 'tix-webhooks/postgres'
import { DataSource, type EntityManager } from 'typeorm'
import { expect, onTestFinished, test } from 'vitest'
import { orderCreated } from '../../../support/deliveries.js'
import { onPostgres } from '../../../support/on-servers.js'
import { kyselyDriver, openPg } from '../../../support/postgres-clients.js'
import { testDatabase } from '../../../support/postgres-database.js'
import { endpoint } from '../../../support/postgres-endpoint.js'

const HANDLED = { status: 200, outcome: 'handled' }

// TypeORM then ends a savepoint where it should end the transaction, and gives the connection back in the middle of it.
onPostgres('a handler over TypeORM that leaves a nested transaction open', () => {
  const database = testDatabase('CREATE TABLE effects (id text)')

  async function over(handle: (manager: EntityManager, id: string) => Promise<unknown>) {
    const dataSource = await new DataSource({
      type: 'postgres',
      url: database.url,
      poolSize: 1,
      extra: { options: database.settings() },
    }).initialize()
    onTestFinished(() => dataSource.destroy())
    const inbox = postgresInbox<EntityManager>({
      transaction: (work) => dataSource.transaction(work),
      query: async (manager, text, parameters) =>
        (await manager.queryRunner?.query(text, [...parameters], true))?.records ?? [],
    })
    await inbox.migrate()
    return endpoint({
      inbox,
      on: { 'order.created': async (event, { tx }) => handle(tx, event.data.order.id) },
    })
  }

  const insert = (manager: EntityManager, id: string): Promise<unknown> =>
    manager.query(`INSERT INTO effects VALUES ('${id}')`)

  test('is not acknowledged, and what it wrote is not committed with the next event', async () => {
    let isForgetting = true
    const { send } = await over(async (manager, id) => {
      await insert(manager, id)
      if (id === 'first' && isForgetting) await manager.queryRunner?.startTransaction()
    })
    const [first, second] = [orderCreated({ id: 'first' }), orderCreated({ id: 'second' })]
    expect((await send(first)).status).toBe(503)
    isForgetting = false
    while ((await send(second)).status !== 200);
    expect(await database.column('SELECT id FROM effects')).toEqual(['second'])
    expect(await send(first)).toEqual(HANDLED)
    expect(await database.column('SELECT id FROM effects ORDER BY id')).toEqual(['first', 'second'])
  })
})

onPostgres('a driver over pg', () => {
  const database = testDatabase('CREATE TABLE effects (id text)')

  test('that tries a failed transaction again runs the handler once in a delivery', async () => {
    const db = new Kysely<Record<never, never>>({ dialect: new PostgresDialect({ pool: openPg(database) }) })
    const driver = kyselyDriver(db)
    const inbox = postgresInbox({
      ...driver,
      transaction: (work) => driver.transaction(work).catch(() => driver.transaction(work)),
    })
    await inbox.migrate()
    let runs = 0
    const { send, reports } = await endpoint({
      inbox,
      on: {
        'order.created': () => {
          runs++
          throw new Error('no seat')
        },
      },
    })
    expect((await send(orderCreated())).status).toBe(500)
    expect([runs, reports.map(({ message }) => message)]).toEqual([1, ['no seat']])
  })

  // Prisma cannot read one. 2278 is its number in Postgres.
  test('gets no column of the type void', async () => {
    const types = new Set<number>()
    const pool = openPg(database)
    const inbox = postgresInbox<PoolClient>({
      async transaction(work) {
        const client = await pool.connect()
        try {
          await client.query('BEGIN')
          const result = await work(client)
          await client.query('COMMIT')
          return result
        } finally {
          client.release()
        }
      },
      async query(client, text, parameters) {
        const { rows, fields } = await client.query(text, [...parameters])
        for (const { dataTypeID } of fields) types.add(dataTypeID)
        return rows
      },
    })
    await inbox.migrate()
    const { send } = await endpoint({
      inbox,
      on: {
        'order.created': async (_event, { tx }) =>
          void (await inbox.isNewest(tx, { subject: 'show', at: '2026-05-17T14:02:11Z' })),
      },
    })
    expect(await send(orderCreated())).toEqual(HANDLED)
    await inbox.purge()
    expect(types.size).toBeGreaterThan(1)
    expect(types).not.toContain(2278)
  })
})
