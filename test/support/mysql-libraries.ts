import { sql } from 'drizzle-orm'
import type { MySqlTable } from 'drizzle-orm/mysql-core'
import { drizzle, type MySql2Database } from 'drizzle-orm/mysql2'
import type { Knex } from 'knex'
import { CompiledQuery, type Transaction as KyselyTransaction } from 'kysely'
import type { Pool as CallbackPool } from 'mysql2'
import type { Pool } from 'mysql2/promise'
import type { Model } from 'objection'
import type { Sequelize, Transaction as SequelizeTransaction } from 'sequelize'
import { type MysqlInbox, mysqlInbox } from 'tix-webhooks/mysql'
import type { DataSource, EntityManager } from 'typeorm'
import { inSavepoint, KNEX, KYSELY, loadLibrary, OBJECTION, SEQUELIZE, TYPEORM } from './library-files.js'
import { createMariadb, createMysql2 } from './mysql-clients.js'

/** The declarations of a library's file in examples/libraries, or the same without a file. */
export interface Opened<Tx> {
  readonly inbox: MysqlInbox<Tx>
}

/** A library for MySQL, as a handler uses it. */
export interface MysqlLibrary<Tx = never, Names = never> {
  /** Its name, by which its file is named. */
  readonly name: string
  /** Opens it with a single connection, which each delivery gets after the other. Default: by its file. */
  open?(url: string): Promise<Names>
  close(opened: Names): Promise<unknown>
  /** Runs a statement in the transaction. */
  run(tx: Tx, statement: string, opened: Names): Promise<unknown>
  /** A write that is made of the transaction now, and sent later: a builder of a query, a repository. */
  prepare?(tx: Tx, id: string, opened: Names): () => Promise<unknown>
  /**
   * The ways to run `work` in a transaction within the transaction. In those of `unseen` the inner one is not made by a function of the
   * outer one that calls the work.
   */
  readonly nested: Readonly<Record<string, Nested<Tx, Names>>>
  readonly unseen?: readonly string[]
  /** Begins a transaction within the transaction by hand, and leaves it open. */
  leaveOpen(tx: Tx, opened: Names): Promise<unknown>
  /** What is in no transaction of the inbox, and runs statements as `ctx.tx` does. */
  outside(opened: Names): unknown
  /** What becomes of a statement after a deadlock that the handler caught. */
  readonly afterDeadlock: 'rolled back' | 'committed' | 'refused'
}

type Nested<Tx, Names> = (tx: Tx, work: (inner: Tx) => Promise<unknown>, opened: Names) => Promise<unknown>

function library<Tx, Names extends object>(row: MysqlLibrary<Tx, Names & Opened<Tx>>): MysqlLibrary {
  return row as unknown as MysqlLibrary
}

export function insertOrder(id: string): string {
  return `INSERT INTO orders VALUES ('${id}')`
}

/** For a library whose transactions within a transaction are statements alone. */
function statements<Tx, Names>(
  run: MysqlLibrary<Tx, Names>['run'],
): Pick<MysqlLibrary<Tx, Names>, 'run' | 'nested' | 'leaveOpen'> {
  return {
    run,
    nested: {
      statements: (tx, work, opened) =>
        inSavepoint(
          (statement) => run(tx, statement, opened),
          () => work(tx),
        ),
    },
    leaveOpen: (tx, opened) => run(tx, 'SAVEPOINT mine', opened),
  }
}

interface Queries {
  query(statement: string): Promise<unknown>
}

interface Knexes {
  readonly knex: Knex
}

const knexes = {
  run: async (trx: Knex.Transaction, statement: string) => trx.raw(statement),
  leaveOpen: (trx: Knex.Transaction) => trx.transaction(),
  outside: ({ knex }: Knexes) => knex,
  afterDeadlock: 'committed' as const,
}

export const MYSQL_LIBRARIES: readonly MysqlLibrary[] = [
  library<Queries, { pool: Pool }>({
    name: 'mysql2',
    async open(url) {
      const pool = createMysql2(url, { connectionLimit: 1 })
      return { pool, inbox: mysqlInbox(pool) }
    },
    close: ({ pool }) => pool.end(),
    ...statements((connection, statement) => connection.query(statement)),
    outside: ({ pool }) => pool,
    afterDeadlock: 'rolled back',
  }),
  library<Queries, { pool: ReturnType<typeof createMariadb> }>({
    name: 'mariadb',
    async open(url) {
      const pool = createMariadb(url, { connectionLimit: 1 })
      return { pool, inbox: mysqlInbox(pool) }
    },
    close: ({ pool }) => pool.end(),
    ...statements((connection, statement) => connection.query(statement)),
    outside: ({ pool }) => pool,
    afterDeadlock: 'rolled back',
  }),
  library<MySql2Database, { pool: Pool; orders: MySqlTable }>({
    name: 'Drizzle',
    close: ({ pool }) => pool.end(),
    ...statements((tx, statement) => tx.execute(statement)),
    outside: ({ pool }) => drizzle({ client: pool }),
    prepare(tx, id, { orders }) {
      const late = tx.insert(orders).values({ id })
      return async () => late
    },
    afterDeadlock: 'rolled back',
  }),
  library<MySql2Database, { pool: Pool }>({
    name: 'Drizzle by two methods',
    async open(url) {
      const pool = createMysql2(url, { connectionLimit: 1 })
      const db = drizzle({ client: pool })
      const inbox = mysqlInbox<MySql2Database>({
        transaction: (work) => db.transaction(work),
        query: (tx, statement) => tx.execute(sql.raw(statement)),
      })
      return { pool, inbox }
    },
    close: ({ pool }) => pool.end(),
    run: (tx, statement) => tx.execute(statement),
    nested: { transaction: (tx, work) => tx.transaction(work) },
    leaveOpen: (tx) => tx.execute('SAVEPOINT mine'),
    outside: ({ pool }) => drizzle({ client: pool }),
    afterDeadlock: 'committed',
  }),
  library<KyselyTransaction<{ orders: { id: string } }>, { pool: CallbackPool; db: unknown }>({
    name: 'Kysely',
    close: ({ pool }) => new Promise<void>((resolve) => void pool.end(() => resolve())),
    ...statements((tx, statement) => tx.executeQuery(CompiledQuery.raw(statement))),
    outside: ({ db }) => db,
    ...KYSELY,
    afterDeadlock: 'committed',
  }),
  library<Knex.Transaction, Knexes>({
    name: 'Knex',
    ...knexes,
    ...KNEX,
    unseen: ['transaction by hand'],
  }),
  library<Knex.Transaction, Knexes & { Order: typeof Model }>({
    name: 'Objection',
    ...knexes,
    ...OBJECTION,
  }),
  library<EntityManager, { dataSource: DataSource }>({
    name: 'TypeORM',
    run: (manager, statement) => manager.query(statement),
    ...TYPEORM,
    leaveOpen: async (manager) => manager.queryRunner?.startTransaction(),
    outside: ({ dataSource }) => dataSource.manager,
    afterDeadlock: 'committed',
  }),
  library<SequelizeTransaction, { sequelize: Sequelize }>({
    name: 'Sequelize',
    run: (transaction, statement, { sequelize }) => sequelize.query(statement, { transaction }),
    ...SEQUELIZE,
    unseen: ['transaction', 'transaction by hand'],
    leaveOpen: (transaction, { sequelize }) => sequelize.transaction({ transaction }),
    outside: ({ sequelize }) => sequelize,
    afterDeadlock: 'refused',
  }),
]

/** Opens a library on a database: by its file, unchanged but for its pool of a single connection, or by its own lines. */
export function openMysqlLibrary({ name, open }: MysqlLibrary, url: string): Promise<Opened<never>> {
  return open?.(url) ?? loadLibrary('mysql', name)
}
