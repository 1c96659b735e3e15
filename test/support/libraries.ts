import { MikroORM, EntitySchema as MikroSchema, type SqlEntityManager } from '@mikro-orm/postgresql'
import { drizzle, type MySql2Database } from 'drizzle-orm/mysql2'
import type { NodePgDatabase } from 'drizzle-orm/node-postgres'
import type { PostgresJsDatabase } from 'drizzle-orm/postgres-js'
import knexOf, { type Knex } from 'knex'
import {
  CompiledQuery,
  Kysely,
  type Transaction as KyselyTransaction,
  MysqlDialect,
  PostgresDialect,
} from 'kysely'
import { createPool } from 'mysql2'
import { Model } from 'objection'
import { Pool } from 'pg'
import type { ITask } from 'pg-promise'
import type { TransactionSql } from 'postgres'
import { DataTypes, Sequelize, type Transaction as SequelizeTransaction } from 'sequelize'
import { type DatabasePool, type DatabaseTransactionConnection, sql } from 'slonik'
import { tixWebhooks } from 'tix-webhooks/fetch'
import { mysqlInbox } from 'tix-webhooks/mysql'
import {
  fromKnex,
  fromKysely,
  fromMikroOrm,
  fromPrisma,
  fromSequelize,
  fromTypeOrm,
  type LibraryDriver,
  type PostgresInbox,
  postgresInbox,
} from 'tix-webhooks/postgres'
import { DataSource, type EntityManager, EntitySchema, type QueryRunner } from 'typeorm'
import { snippetsFolder } from './compile.js'
import { readPage } from './pages.js'
import { type PrismaLike, prismaLike } from './prisma-like.js'

/** An inbox over a library, with what its file in examples/libraries declares, or what `open` returns. */
export interface OpenLibrary {
  /** That of MySQL has the same methods. */
  readonly inbox: PostgresInbox<never>
  POST(request: Request): Promise<Response>
}

/** A library of docs/libraries.md, as a handler uses it. */
export interface Library<Tx = never, Names = never> {
  /** Its name, by which its file is named. */
  readonly name: string
  /** Opens it with a single connection, where there is a function `from…` for it and so no file. */
  open?(url: string, database: Backend): Promise<Names & Made<Tx>> | (Names & Made<Tx>)
  close(names: Names): Promise<unknown>
  /** Runs a statement in the transaction. */
  run(tx: Tx, statement: string, names: Names): Promise<unknown>
  /** A write that is made of the transaction now, and sent later: a builder of a query, a repository. */
  prepare?(tx: Tx, id: string, names: Names): () => Promise<unknown>
  /** The ways to run `work` in a transaction within the transaction. */
  readonly nested: Readonly<Record<string, Nested<Tx, Names>>>
  /** Begins a transaction within the transaction by hand, and leaves it open. */
  leaveOpen?(tx: Tx, names: Names): Promise<unknown>
  /** An object outside of the transaction of the inbox that runs statements as `ctx.tx` does. */
  outside?(names: Names): unknown
}

type Backend = 'postgres' | 'mysql'

interface Made<Tx> {
  readonly driver: LibraryDriver<Tx>
}

type Nested<Tx, Names> = (tx: Tx, work: (inner: Tx) => Promise<unknown>, names: Names) => Promise<unknown>

function library<Tx, Names = object>(row: Library<Tx, Names>): Library {
  return row as unknown as Library
}

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

/** For a library whose transactions within a transaction are statements alone. */
function bySavepoint<Tx>(run: (tx: Tx, statement: string) => Promise<unknown>): {
  run(tx: Tx, statement: string): Promise<unknown>
  nested: { statements(tx: Tx, work: (inner: Tx) => Promise<unknown>): Promise<void> }
  leaveOpen(tx: Tx): Promise<unknown>
} {
  return {
    run,
    nested: {
      async statements(tx, work) {
        await run(tx, 'SAVEPOINT mine')
        await byHand(
          () => work(tx),
          () => run(tx, 'RELEASE SAVEPOINT mine'),
          () => run(tx, 'ROLLBACK TO SAVEPOINT mine'),
        )
      },
    },
    leaveOpen: (tx) => run(tx, 'SAVEPOINT mine'),
  }
}

interface Pools {
  readonly pool: { end(): Promise<unknown> }
}

/** Both functions take the drivers. */
const INBOXES = { postgres: postgresInbox, mysql: mysqlInbox as never as typeof postgresInbox }

function openKnex(connection: string, database: Backend) {
  const client = database === 'postgres' ? 'pg' : 'mysql2'
  const knex = knexOf({ client, connection, pool: { min: 0, max: 1 } })
  class Order extends Model {
    static override tableName = 'orders'
  }
  return { knex, Order, driver: fromKnex(knex) }
}

function openKysely(url: string, database: Backend) {
  const pool = database === 'postgres' ? new Pool({ connectionString: url, max: 1 }) : undefined
  const dialect = pool
    ? new PostgresDialect({ pool })
    : new MysqlDialect({ pool: createPool({ uri: url, connectionLimit: 1 }) })
  const db = new Kysely<{ orders: { id: string } }>({ dialect })
  return { db, driver: fromKysely(db, pool) }
}

const byKnex = {
  open: openKnex,
  close: ({ knex }: { readonly knex: Knex }) => knex.destroy(),
  run: async (trx: Knex.Transaction, statement: string) => trx.raw(statement),
  leaveOpen: (trx: Knex.Transaction) => trx.transaction(),
  outside: ({ knex }: { readonly knex: Knex }) => knex,
}

/** Those for both databases. */
const SHARED: readonly Library[] = [
  library<KyselyTransaction<{ orders: { id: string } }>, { db: Kysely<{ orders: { id: string } }> }>({
    name: 'Kysely',
    open: openKysely,
    close: ({ db }) => db.destroy(),
    ...bySavepoint((tx, statement) => tx.executeQuery(CompiledQuery.raw(statement))),
    prepare(tx, id) {
      const late = tx.insertInto('orders').values({ id })
      return () => late.execute()
    },
    outside: ({ db }) => db,
  }),
  library<Knex.Transaction, { knex: Knex }>({
    name: 'Knex',
    ...byKnex,
    prepare(trx, id) {
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
    },
  }),
  library<Knex.Transaction, { knex: Knex; Order: typeof Model }>({
    name: 'Objection',
    ...byKnex,
    prepare(trx, id, { Order }) {
      const late = Order.query(trx).insert({ id } as never)
      return async () => late
    },
    nested: {
      'Model.transaction': (trx, work, { Order }) =>
        Order.transaction(trx, (inner) => work(inner as Knex.Transaction)),
    },
  }),
  library<EntityManager, { dataSource: DataSource }>({
    name: 'TypeORM',
    async open(url, type) {
      const columns = { id: { type: 'varchar', length: 191, primary: true } } as const
      const entities = [new EntitySchema({ name: 'Order', tableName: 'orders', columns })]
      const dataSource = new DataSource({ type, url, poolSize: 1, entities })
      await dataSource.initialize()
      return { dataSource, driver: fromTypeOrm(dataSource) }
    },
    close: ({ dataSource }) => dataSource.destroy(),
    run: (manager, statement) => manager.query(statement),
    prepare(manager, id) {
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
    },
    leaveOpen: async (manager) => manager.queryRunner?.startTransaction(),
    outside: ({ dataSource }) => dataSource.manager,
  }),
  library<SequelizeTransaction, { sequelize: Sequelize }>({
    name: 'Sequelize',
    open(url) {
      const sequelize = new Sequelize(url, { logging: false, pool: { max: 1 } })
      const id = { type: DataTypes.STRING, primaryKey: true }
      sequelize.define('order', { id }, { timestamps: false })
      return { sequelize, driver: fromSequelize(sequelize) }
    },
    close: ({ sequelize }) => sequelize.close(),
    run: (transaction, statement, { sequelize }) => sequelize.query(statement, { transaction }),
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
    },
    leaveOpen: (transaction, { sequelize }) => sequelize.transaction({ transaction }),
    outside: ({ sequelize }) => sequelize,
  }),
  library<PrismaLike, { prisma: PrismaLike & { end(): Promise<unknown> } }>({
    name: 'Prisma',
    open(url, database) {
      const prisma = prismaLike(url, database)
      return { prisma, driver: fromPrisma<PrismaLike>(prisma) }
    },
    close: ({ prisma }) => prisma.end(),
    ...bySavepoint((tx, statement) => tx.$queryRawUnsafe(statement)),
    outside: ({ prisma }) => prisma,
  }),
]

export const POSTGRES_LIBRARIES: readonly Library[] = [
  ...SHARED,
  library<NodePgDatabase, Pools & { orders: never }>({
    name: 'Drizzle',
    close: ({ pool }) => pool.end(),
    ...bySavepoint((tx, statement) => tx.execute(statement)),
    prepare(tx, id, { orders }) {
      const late = tx.insert(orders).values({ id } as never)
      return async () => late
    },
  }),
  library<
    TransactionSql,
    {
      sql: { end(): Promise<void> }
      orders: never
      drizzleOf(tx: TransactionSql): PostgresJsDatabase
    }
  >({
    name: 'Drizzle on postgres.js',
    close: ({ sql }) => sql.end(),
    run: async (tx, statement, { drizzleOf }) => drizzleOf(tx).execute(statement),
    prepare(tx, id, { drizzleOf, orders }) {
      const late = drizzleOf(tx)
        .insert(orders)
        .values({ id } as never)
      return async () => late
    },
    nested: { savepoint: (tx, work) => tx.savepoint((inner) => work(inner)) },
  }),
  library<SqlEntityManager, { orm: { close(force?: boolean): Promise<void>; em: SqlEntityManager } }>({
    name: 'MikroORM',
    async open(clientUrl) {
      const properties = { id: { type: 'text', primary: true } } as const
      const Order = new MikroSchema<{ id: string }>({ name: 'Order', tableName: 'orders', properties })
      const orm = await MikroORM.init({ clientUrl, entities: [Order], pool: { min: 0, max: 1 } })
      return { orm, driver: fromMikroOrm(orm) }
    },
    close: ({ orm }) => orm.close(),
    run: (em, statement) => em.execute(statement),
    prepare(em, id) {
      const orders = em.getRepository<object>('Order')
      return () => orders.insert({ id })
    },
    nested: {
      transactional: (em, work) => em.transactional((inner) => work(inner as SqlEntityManager)),
      // In the context of the handler, the global manager is in its transaction too.
      'the global manager': (_, work, { orm }) =>
        orm.em.transactional((inner) => work(inner as SqlEntityManager)),
    },
  }),
  library<ITask<object>, { db: { $pool: { end(): Promise<void> } } }>({
    name: 'pg-promise',
    close: ({ db }) => db.$pool.end(),
    run: (t, statement) => t.none(statement),
    nested: { tx: (t, work) => t.tx(work), task: (t, work) => t.task((inner) => inner.txIf(work)) },
  }),
  library<DatabaseTransactionConnection, { pool: DatabasePool }>({
    name: 'Slonik',
    close: ({ pool }) => pool.end(),
    run: (tx, statement) => tx.query({ ...sql.unsafe``, sql: statement }),
    nested: { transaction: (tx, work) => tx.transaction(work) },
  }),
]

export const MYSQL_LIBRARIES: readonly Library[] = [
  ...SHARED,
  library<MySql2Database, Pools & { orders: never }>({
    name: 'Drizzle',
    close: ({ pool }) => pool.end(),
    ...bySavepoint((tx, statement) => tx.execute(statement)),
    prepare(tx, id, { orders }) {
      const late = tx.insert(orders).values({ id } as never)
      return async () => late
    },
    outside: ({ pool }) => drizzle({ client: pool as never }),
  }),
]

/** Opens a library by its function `from…`, or by its file of examples/libraries: unchanged but for its pool, of a single connection. */
export async function openLibrary(
  database: Backend,
  url: string,
  { name, open, prepare, run }: Library,
): Promise<OpenLibrary> {
  if (open !== undefined) {
    const names = (await open(url, database)) as Made<never>
    const inbox = INBOXES[database](names.driver)
    const write = async (tx: never, id: string): Promise<unknown> =>
      prepare === undefined
        ? run(tx, `INSERT INTO orders VALUES ('${id}')`, names as never)
        : prepare(tx, id, names as never)()
    const POST = tixWebhooks<never>({
      secret: process.env.TIX_SIGNING_SECRET,
      inbox,
      namespace: 'orders',
      on: { 'order.created': async (event, ctx) => void (await write(ctx.tx, event.data.order.id)) },
    })
    return { ...names, inbox, POST }
  }
  const slug = name.toLowerCase().replaceAll(/\W+/g, '-')
  const code = readPage(`examples/libraries/${database}-${slug}.ts`)
    .replaceAll(/^(const|class) /gm, 'export $1 ')
    .replace(/\b(max|maximumPoolSize|connectionLimit): 20\b/, '$1: 1')
  const { write, remove } = snippetsFolder()
  try {
    return await import(/* @vite-ignore */ write('library', code))
  } finally {
    remove()
  }
}
