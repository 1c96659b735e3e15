import type { MikroORM, SqlEntityManager } from '@mikro-orm/postgresql'
import { sql as drizzleSql } from 'drizzle-orm'
import type { NodePgDatabase } from 'drizzle-orm/node-postgres'
import type { PgTable } from 'drizzle-orm/pg-core'
import type { PostgresJsDatabase } from 'drizzle-orm/postgres-js'
import type { Knex } from 'knex'
import { CompiledQuery, type Transaction as KyselyTransaction } from 'kysely'
import type { Model } from 'objection'
import type { Pool } from 'pg'
import type { ITask } from 'pg-promise'
import type { Sql, TransactionSql } from 'postgres'
import type { Sequelize, Transaction as SequelizeTransaction } from 'sequelize'
import { type DatabasePool, type DatabaseTransactionConnection, sql } from 'slonik'
import type { PostgresInbox } from 'tix-webhooks/postgres'
import type { DataSource, EntityManager } from 'typeorm'
import { inSavepoint, KNEX, KYSELY, loadLibrary, OBJECTION, SEQUELIZE, TYPEORM } from './library-files.js'

/** The declarations of a file of examples/libraries. */
export interface Snippet<Tx> {
  readonly inbox: PostgresInbox<Tx>
  POST(request: Request): Promise<Response>
}

/** A library of docs/libraries.md, as a handler uses it. */
export interface Library<Tx = never, Names = never> {
  /** Its name, by which its file is named. */
  readonly name: string
  close(snippet: Names): Promise<unknown>
  write(tx: Tx, id: string, snippet: Names): Promise<unknown>
  /** A write that is made of the transaction now, and sent later: a builder of a query, a repository. Default: `write`. */
  prepare?(tx: Tx, id: string, snippet: Names): () => Promise<unknown>
  /** The ways to run `work` in a transaction within the transaction. */
  readonly nested: Readonly<Record<string, Nested<Tx, Names>>>
}

type Nested<Tx, Names> = (tx: Tx, work: (inner: Tx) => Promise<unknown>, snippet: Names) => Promise<unknown>

const insert = (id: string): string => `INSERT INTO orders VALUES ('${id}')`

function library<Tx, Names extends object>(row: Library<Tx, Names & Snippet<Tx>>): Library {
  return row as unknown as Library
}

export const LIBRARIES: readonly Library[] = [
  library<NodePgDatabase, { pool: Pool; orders: PgTable }>({
    name: 'Drizzle',
    close: ({ pool }) => pool.end(),
    write: (tx, id) => tx.execute(drizzleSql`INSERT INTO orders VALUES (${id})`),
    prepare(tx, id, { orders }) {
      const late = tx.insert(orders).values({ id })
      return async () => late
    },
    nested: {
      statements: (tx, work) =>
        inSavepoint(
          (text) => tx.execute(text),
          () => work(tx),
        ),
    },
  }),
  library<TransactionSql, { sql: Sql; orders: PgTable; drizzleOf(tx: TransactionSql): PostgresJsDatabase }>({
    name: 'Drizzle on postgres.js',
    close: ({ sql }) => sql.end(),
    write: async (tx, id, { drizzleOf, orders }) => drizzleOf(tx).insert(orders).values({ id }),
    prepare(tx, id, { drizzleOf, orders }) {
      const late = drizzleOf(tx).insert(orders).values({ id })
      return async () => late
    },
    nested: { savepoint: (tx, work) => tx.savepoint((inner) => work(inner)) },
  }),
  library<KyselyTransaction<{ orders: { id: string } }>, { pool: Pool }>({
    name: 'Kysely',
    close: ({ pool }) => pool.end(),
    write: (tx, id) => tx.executeQuery(CompiledQuery.raw(insert(id))),
    ...KYSELY,
    nested: {
      statements: (tx, work) =>
        inSavepoint(
          (text) => tx.executeQuery(CompiledQuery.raw(text)),
          () => work(tx),
        ),
    },
  }),
  library<Knex.Transaction, { knex: Knex }>({
    name: 'Knex',
    write: async (trx, id) => trx('orders').insert({ id }),
    ...KNEX,
  }),
  library<Knex.Transaction, { knex: Knex; Order: typeof Model }>({
    name: 'Objection',
    write: async (trx, id, { Order }) => Order.query(trx).insert({ id } as never),
    ...OBJECTION,
  }),
  library<EntityManager, { dataSource: DataSource }>({
    name: 'TypeORM',
    write: (manager, id) => manager.insert('Order', { id }),
    ...TYPEORM,
  }),
  library<SequelizeTransaction, { sequelize: Sequelize }>({
    name: 'Sequelize',
    write: (transaction, id, { sequelize }) =>
      sequelize.query('INSERT INTO orders VALUES ($id)', { bind: { id }, transaction }),
    ...SEQUELIZE,
  }),
  library<SqlEntityManager, { orm: MikroORM }>({
    name: 'MikroORM',
    close: ({ orm }) => orm.close(),
    write: (em, id) => em.insert('Order', { id }),
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
    write: (t, id) => t.none('INSERT INTO orders VALUES ($1)', [id]),
    nested: { tx: (t, work) => t.tx(work), task: (t, work) => t.task((inner) => inner.txIf(work)) },
  }),
  library<DatabaseTransactionConnection, { pool: DatabasePool }>({
    name: 'Slonik',
    close: ({ pool }) => pool.end(),
    write: (tx, id) => tx.query(sql.unsafe`INSERT INTO orders VALUES (${id})`),
    nested: { transaction: (tx, work) => tx.transaction(work) },
  }),
]

/** Loads the file of a library, unchanged but for its pool: a single connection, which each delivery gets after the other. */
export function loadSnippet(name: string): Promise<Snippet<never>> {
  return loadLibrary('postgres', name)
}
