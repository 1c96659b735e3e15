import { QueryTypes, Sequelize, type Transaction } from 'sequelize'
import { type PostgresInbox, postgresInbox } from 'tix-webhooks/postgres'
import { DataSource, type EntityManager } from 'typeorm'
import { expect, onTestFinished, test } from 'vitest'
import { orderCreated } from '../support/deliveries.js'
import { onPostgres } from '../support/on-servers.js'
import { testDatabase } from '../support/postgres-database.js'
import { endpoint } from '../support/postgres-endpoint.js'

const HANDLED = { status: 200, outcome: 'handled' }

/** The lines that the refusal of such an object shows. */
const LIBRARIES: [
  string,
  (
    url: string,
    options: string,
  ) => Promise<{
    inbox: PostgresInbox<never>
    run(tx: never, text: string): Promise<unknown>
  }>,
][] = [
  [
    'TypeORM',
    async (url, options) => {
      const dataSource = await new DataSource({ type: 'postgres', url, extra: { options } }).initialize()
      onTestFinished(() => dataSource.destroy())
      const inbox = postgresInbox<EntityManager>({
        transaction: (work) => dataSource.transaction(work),
        query: async (manager, text, parameters) =>
          (await manager.queryRunner?.query(text, [...parameters], true))?.records ?? [],
      })
      return {
        inbox: inbox as PostgresInbox<never>,
        run: (manager: EntityManager, text) => manager.query(text),
      }
    },
  ],
  [
    'Sequelize',
    async (url, options) => {
      const sequelize = new Sequelize(url, { logging: false, dialectOptions: { options } })
      onTestFinished(() => sequelize.close())
      const inbox = postgresInbox<Transaction>({
        transaction: (work) => sequelize.transaction(work),
        query: (transaction, text, parameters) =>
          sequelize.query(text, { bind: [...parameters], transaction, type: QueryTypes.SELECT }),
      })
      return {
        inbox: inbox as PostgresInbox<never>,
        run: (transaction: Transaction, text) => sequelize.query(text, { transaction }),
      }
    },
  ],
]

onPostgres.each(LIBRARIES)('postgresInbox over the two methods of %s', (_, open) => {
  const database = testDatabase('CREATE TABLE effects (id text)')

  test('has an effect exactly once, or not at all', async () => {
    const { inbox, run } = await open(database.url, database.settings())
    await inbox.migrate()
    let isFailing = true
    const { send } = await endpoint({
      inbox,
      on: {
        'order.created': async (event, { tx }) => {
          await run(tx, `INSERT INTO effects VALUES ('${event.data.order.id}')`)
          if (isFailing) throw new Error('later')
        },
      },
    })
    const order = orderCreated({ id: 'once' })
    expect((await send(order)).status).toBe(500)
    expect(await database.column('SELECT id FROM effects')).toEqual([])
    isFailing = false
    expect(await send(order)).toEqual(HANDLED)
    expect((await send(order)).outcome).toBe('duplicate')
    expect(await database.column('SELECT id FROM effects')).toEqual(['once'])
    expect(await inbox.purge()).toBe(0)
  })
})
