import type { Knex } from 'knex'
import type { Client } from 'pg'
import type { IInitOptions, ITask } from 'pg-promise'
import type { Transaction } from 'sequelize'
import { ddl, type PostgresInbox, postgresInbox } from 'tix-webhooks/postgres'
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { orderCreated, SECRET } from '../../../support/deliveries.js'
import { onPostgres } from '../../../support/on-servers.js'
import { openPg } from '../../../support/postgres-clients.js'
import { testDatabase } from '../../../support/postgres-database.js'
import { endpoint } from '../../../support/postgres-endpoint.js'
import { LIBRARIES, loadSnippet } from '../../../support/postgres-libraries.js'
import { turns } from '../../../support/promises.js'

const HANDLED = { status: 200, outcome: 'handled' }

onPostgres('a handler of postgresInbox', () => {
  const database = testDatabase('CREATE TABLE orders (id text PRIMARY KEY)', ddl)
  const written = (): Promise<unknown[]> => database.column('SELECT id FROM orders ORDER BY id')

  beforeEach(async () => {
    vi.stubEnv('TIX_SIGNING_SECRET', SECRET)
    const url = new URL(database.url)
    url.searchParams.set('options', database.settings())
    vi.stubEnv('DATABASE_URL', url.href)
    for (const method of ['log', 'warn'] as const) vi.spyOn(console, method).mockImplementation(() => {})
    await database.query('TRUNCATE orders')
    return () => {
      vi.unstubAllEnvs()
      vi.restoreAllMocks()
    }
  })

  async function open<Names>(name: string): Promise<Names & { inbox: PostgresInbox<never> }> {
    const snippet = await loadSnippet(name)
    const library = LIBRARIES.find((one) => one.name === name)
    onTestFinished(async () => void (await library?.close(snippet as never)))
    return snippet as never
  }

  const sendTo = (inbox: PostgresInbox<never>, handler: (tx: never) => unknown) =>
    endpoint({ inbox, on: { 'order.created': async (_, { tx }) => void (await handler(tx)) } })

  test.each<[string, (trx: Knex.Transaction) => Promise<unknown>]>([
    [
      'commits a nested transaction of Knex itself',
      (trx) =>
        trx.transaction(async (inner) => {
          await inner('orders').insert({ id: 'a' })
          await inner.commit()
        }),
    ],
    [
      'listens to Knex',
      async (trx) => {
        trx.on('query', async () => turns(50))
        await trx('orders').insert({ id: 'a' })
      },
    ],
  ])('%s', async (_, handler) => {
    const { inbox } = await open('Knex')
    const { send } = await sendTo(inbox, handler)
    expect(await send(orderCreated())).toEqual(HANDLED)
    expect(await written()).toEqual(['a'])
  })

  test('waits for a callback of pg that goes on', async () => {
    const pool = openPg(database)
    const inbox = postgresInbox(pool)
    const { send } = await endpoint({
      inbox,
      on: {
        'order.created': (_, { tx }) =>
          new Promise<void>((resolve, reject) => {
            ;(tx as Client).query("INSERT INTO orders VALUES ('a')", async (error) => {
              if (error) reject(error)
              else resolve()
              await turns(50)
            })
          }),
      },
    })
    expect(await send(orderCreated())).toEqual(HANDLED)
    expect(await written()).toEqual(['a'])
  })

  test('has a hook of Sequelize called after the commit', async () => {
    const { inbox, sequelize } = await open<{
      sequelize: { query(sql: string, options: object): Promise<unknown> }
    }>('Sequelize')
    const hook = vi.fn()
    const { send } = await sendTo(inbox, async (transaction: Transaction) => {
      await sequelize.query("INSERT INTO orders VALUES ('a')", { transaction })
      transaction.afterCommit(hook)
    })
    expect(await send(orderCreated())).toEqual(HANDLED)
    expect(hook).toHaveBeenCalledOnce()
    expect(await written()).toEqual(['a'])
  })

  test('over pg-promise has a client that makes camels of columns, as its documentation shows', async () => {
    const { default: pgPromise } = await import('pg-promise')
    const receive: IInitOptions['receive'] = ({ data }) => {
      for (const name of Object.keys(data[0] ?? {})) {
        const camel = pgPromise.utils.camelize(name)
        if (camel === name) continue
        for (const row of data) {
          row[camel] = row[name]
          delete row[name]
        }
      }
    }
    const db = pgPromise({ receive })(String(process.env.DATABASE_URL))
    onTestFinished(() => db.$pool.end())
    const inbox = postgresInbox<ITask<object>>({
      transaction: (work) => db.tx(work),
      query: (t, text, values) => t.any(text, [...values]),
    })
    await inbox.migrate()
    const { send } = await endpoint({
      inbox,
      on: { 'order.created': (_, { tx }) => tx.none("INSERT INTO orders VALUES ('a')") },
    })
    const order = orderCreated()
    expect(await send(order)).toEqual(HANDLED)
    expect((await send(order)).outcome).toBe('duplicate')
    expect(await written()).toEqual(['a'])
  })
})
