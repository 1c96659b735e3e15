import type { Knex } from 'knex'
import type { Transaction as KyselyTransaction } from 'kysely'
import type { Model } from 'objection'
import type { Sequelize, Transaction as SequelizeTransaction } from 'sequelize'
import type { DataSource, EntityManager, QueryRunner } from 'typeorm'
import { snippetsFolder } from './compile.js'
import { readPage } from './pages.js'

/** Loads a file of examples/libraries, with all its declarations exported, and with a single connection in its pool. */
export async function loadLibrary<Names>(database: 'postgres' | 'mysql', name: string): Promise<Names> {
  const slug = name.toLowerCase().replaceAll(/\W+/g, '-')
  const code = readPage(`examples/libraries/${database}-${slug}.ts`)
    .replaceAll(/^(const|class) /gm, 'export $1 ')
    .replace(/\b(max|poolSize|maximumPoolSize|connectionLimit): 20\b/, '$1: 1')
  const { write, remove } = snippetsFolder()
  try {
    return await import(/* @vite-ignore */ write('library', code))
  } finally {
    remove()
  }
}

/** Ways to run `work` in a transaction within the transaction. */
type Ways<Tx, Names> = Readonly<
  Record<string, (tx: Tx, work: (inner: Tx) => Promise<unknown>, names: Names) => Promise<unknown>>
>

async function byHand(
  work: () => Promise<unknown>,
  commit: () => Promise<unknown>,
  rollBack: () => Promise<unknown>,
) {
  try {
    await work()
  } catch (error) {
    await rollBack()
    throw error
  }
  await commit()
}

export async function inSavepoint(
  run: (statement: string) => Promise<unknown>,
  work: () => Promise<unknown>,
) {
  await run('SAVEPOINT mine')
  await byHand(
    work,
    () => run('RELEASE SAVEPOINT mine'),
    () => run('ROLLBACK TO SAVEPOINT mine'),
  )
}

/** The work of each library that is the same on Postgres and MySQL. */
export const KYSELY = {
  prepare(tx: KyselyTransaction<{ orders: { id: string } }>, id: string) {
    const late = tx.insertInto('orders').values({ id })
    return () => late.execute()
  },
}

export const KNEX = {
  close: ({ knex }: { readonly knex: Knex }) => knex.destroy(),
  prepare(trx: Knex.Transaction, id: string) {
    const late = trx('orders').insert({ id })
    return async () => late
  },
  nested: {
    transaction: (trx, work) => trx.transaction(work),
    'transaction by hand': async (trx, work) => {
      const inner = await trx.transaction()
      await byHand(
        () => work(inner),
        async () => inner.commit(),
        async () => inner.rollback(),
      )
    },
  } satisfies Ways<Knex.Transaction, unknown>,
}

export const OBJECTION = {
  close: KNEX.close,
  prepare(trx: Knex.Transaction, id: string, { Order }: { readonly Order: typeof Model }) {
    const late = Order.query(trx).insert({ id } as never)
    return async () => late
  },
  nested: {
    'Model.transaction': (trx, work, { Order }) =>
      Order.transaction(trx, (inner) => work(inner as Knex.Transaction)),
  } satisfies Ways<Knex.Transaction, { readonly Order: typeof Model }>,
}

export const TYPEORM = {
  close: ({ dataSource }: { readonly dataSource: DataSource }) => dataSource.destroy(),
  prepare(manager: EntityManager, id: string) {
    const orders = manager.getRepository('Order')
    return () => orders.insert({ id })
  },
  nested: {
    transaction: (manager, work) => manager.transaction(work),
    'a query runner': async (manager, work) => {
      const runner = manager.queryRunner as QueryRunner
      await runner.startTransaction()
      await byHand(
        () => work(manager),
        () => runner.commitTransaction(),
        () => runner.rollbackTransaction(),
      )
    },
  } satisfies Ways<EntityManager, unknown>,
}

export const SEQUELIZE = {
  close: ({ sequelize }: { readonly sequelize: Sequelize }) => sequelize.close(),
  nested: {
    transaction: (transaction, work, { sequelize }) => sequelize.transaction({ transaction }, work),
    'transaction by hand': async (transaction, work, { sequelize }) => {
      const inner = await sequelize.transaction({ transaction })
      await byHand(
        () => work(inner),
        () => inner.commit(),
        () => inner.rollback(),
      )
    },
  } satisfies Ways<SequelizeTransaction, { readonly sequelize: Sequelize }>,
}
