import { StoreError } from '../../src/index.js'
import { NOT_COMMITTED } from './carried.js'

type Row = Readonly<Record<string, unknown>>

/** The driver of a library, for `postgresInbox` and for `mysqlInbox`: handlers get the library's own transaction. */
export interface LibraryDriver<Tx> {
  transaction<R>(work: (tx: Tx) => Promise<R>): Promise<R>
  query(tx: Tx, sql: string, parameters?: readonly unknown[]): Promise<readonly Row[]>
  /** See `PostgresDriver`. */
  readonly refusesLate?: boolean
}

/** The part of a `Kysely` that is used. */
export interface KyselyDb<Tx> {
  transaction(): { execute<R>(work: (tx: Tx) => Promise<R>): Promise<R> }
}

/** The part of a `Pool` of pg that is used. */
export interface KyselyPool {
  on(event: 'acquire', listener: (client: ListenedClient) => void): unknown
  on(event: 'error', listener: () => void): unknown
}

interface ListenedClient {
  on(event: 'error', listener: () => void): unknown
}

/**
 * Carries Kysely.
 *
 * @param pool the `Pool` of its dialect, on Postgres: Kysely does not listen to its connections, so that one that breaks would end the
 *   process
 * @example
 * ```ts
 * import { Kysely, PostgresDialect } from 'kysely'
 * import { Pool } from 'pg'
 * import { fromKysely, postgresInbox } from 'tix-webhooks/postgres'
 *
 * const pool = new Pool({ connectionString: process.env.DATABASE_URL })
 * const db = new Kysely<{ orders: { id: string } }>({ dialect: new PostgresDialect({ pool }) })
 * const inbox = postgresInbox(fromKysely(db, pool))
 * // in a handler: await ctx.tx.insertInto('orders').values({ id }).execute()
 * ```
 */
export function fromKysely<Tx>(db: KyselyDb<Tx>, pool?: KyselyPool): LibraryDriver<Tx> {
  const ignore = (): void => {}
  const heard = new WeakSet<object>()
  pool?.on('error', ignore)
  pool?.on('acquire', (client) => {
    if (heard.has(client)) return
    heard.add(client)
    client.on('error', ignore)
  })
  interface Sends {
    withoutPlugins(): { executeQuery(query: object): Promise<{ readonly rows: Row[] }> }
  }
  return {
    // What it is given during a ROLLBACK it still sends.
    refusesLate: pool === undefined,
    transaction: (work) => db.transaction().execute(work),
    async query(tx, sql, parameters = []) {
      const node = { kind: 'RawNode', sqlFragments: [sql], parameters: [] }
      const query = { sql, parameters, query: node, queryId: { queryId: sql } }
      return (await (tx as Sends).withoutPlugins().executeQuery(query)).rows
    },
  }
}

/** The part of a `Knex` that is used. */
export interface KnexDb<Trx> {
  transaction<R>(work: (trx: Trx) => Promise<R>): Promise<R>
}

/**
 * Carries Knex, and Objection on it.
 *
 * @example
 * ```ts
 * import knex from 'knex'
 * import { fromKnex, postgresInbox } from 'tix-webhooks/postgres'
 *
 * const inbox = postgresInbox(fromKnex(knex({ client: 'pg', connection: 'postgres://localhost/app' })))
 * // in a handler: await ctx.tx('orders').insert({ id }), or with Objection: await Order.query(ctx.tx).insert({ id })
 * ```
 */
export function fromKnex<Trx>(knex: KnexDb<Trx>): LibraryDriver<Trx> {
  interface Sends {
    raw(sql: string, values?: readonly unknown[]): Promise<{ readonly rows: Row[] } | Row[]>
  }
  return {
    refusesLate: true,
    transaction: (work) => knex.transaction(work),
    async query(trx, sql, parameters = []) {
      const result = await (trx as Sends).raw(...positional(sql, parameters))
      return 'rows' in result ? result.rows : result
    },
  }
}

/** The part of a `DataSource` of TypeORM that is used. */
export interface TypeOrmDataSource<Manager> {
  createQueryRunner(): {
    readonly manager: Manager
    readonly isTransactionActive: boolean
    startTransaction(): Promise<void>
    commitTransaction(): Promise<void>
    query(sql: string): Promise<unknown>
    release(): Promise<void>
  }
}

/**
 * Carries TypeORM: handlers get an `EntityManager`.
 *
 * @example
 * ```ts
 * import { fromTypeOrm, postgresInbox } from 'tix-webhooks/postgres'
 * import { DataSource } from 'typeorm'
 *
 * const dataSource = new DataSource({ type: 'postgres', url: 'postgres://localhost/app', entities: ['entities/*.js'] })
 * await dataSource.initialize()
 * const inbox = postgresInbox(fromTypeOrm(dataSource))
 * // in a handler: await ctx.tx.insert(Order, { id })
 * ```
 */
export function fromTypeOrm<Manager>(dataSource: TypeOrmDataSource<Manager>): LibraryDriver<Manager> {
  interface Sends {
    readonly queryRunner: {
      query(sql: string, parameters: unknown[], isStructured: true): Promise<{ readonly records?: Row[] }>
    }
  }
  return {
    async transaction(work) {
      const runner = dataSource.createQueryRunner()
      const { release } = runner
      // Its connection would return to the pool inside the transaction, and the next event would commit it.
      runner.release = () => {
        throw new TypeError(
          'ctx.tx is the transaction of the inbox, which releases its connection itself: leave out release().',
        )
      }
      try {
        await runner.startTransaction()
        const result = await work(runner.manager)
        await runner.commitTransaction()
        if (runner.isTransactionActive) throw new StoreError('rolled_back', NOT_COMMITTED)
        return result
      } catch (error) {
        // Its own rollback would end a savepoint alone that the handler has left open.
        await runner.query('ROLLBACK')
        throw error
      } finally {
        await release.call(runner)
      }
    },
    query: async (manager, sql, parameters = []) =>
      (await (manager as Sends).queryRunner.query(sql, [...parameters], true)).records ?? [],
  }
}

/** The part of a `Sequelize` that is used. */
export interface SequelizeDb<Transaction> {
  transaction(): Promise<Transaction>
  query(sql: string, options: { bind?: unknown[]; transaction: never }): Promise<unknown>
}

/**
 * Carries Sequelize.
 *
 * @example
 * ```ts
 * import { Sequelize } from 'sequelize'
 * import { fromSequelize, postgresInbox } from 'tix-webhooks/postgres'
 *
 * const inbox = postgresInbox(fromSequelize(new Sequelize('postgres://localhost/app')))
 * // in a handler: await Order.create({ id }, { transaction: ctx.tx })
 * ```
 */
export function fromSequelize<Transaction>(sequelize: SequelizeDb<Transaction>): LibraryDriver<Transaction> {
  type Managed = <R>(work: (transaction: Transaction) => Promise<R>) => Promise<R>
  return {
    transaction: (work) => (sequelize.transaction as Managed).call(sequelize, work) as never,
    async query(transaction, sql, parameters = []) {
      const bind = parameters.length === 0 ? {} : { bind: [...parameters] }
      const [rows] = (await sequelize.query(sql, { ...bind, transaction: transaction as never })) as [Row[]]
      return rows
    },
  }
}

/** The part of a Prisma client that is used. */
export interface PrismaDb<Tx> {
  $transaction<R>(
    work: (tx: Tx) => Promise<R>,
    options: { readonly maxWait: number; readonly timeout: number },
  ): Promise<R>
}

/**
 * Carries Prisma 7, with its adapter for `pg`, or for MySQL that of MariaDB: `PrismaMariaDb(url, { useTextProtocol: true })`.
 *
 * @param options those of `prisma.$transaction`, in milliseconds. Default: `maxWait` 2,000, and as `timeout` 310,000, which must be longer
 *   than `maxRunSeconds`
 * @example
 * ```ts
 * import { fromPrisma, postgresInbox } from 'tix-webhooks/postgres'
 * import { prisma } from './prisma.js' // new PrismaClient({ adapter: new PrismaPg({ connectionString }) })
 *
 * const inbox = postgresInbox(fromPrisma(prisma))
 * // in a handler: await ctx.tx.order.create({ data: { id } })
 * ```
 */
export function fromPrisma<Tx>(
  prisma: PrismaDb<Tx>,
  { maxWait = 2_000, timeout = 310_000 }: { readonly maxWait?: number; readonly timeout?: number } = {},
): LibraryDriver<Tx> {
  interface Sends {
    $queryRawUnsafe(sql: string, ...parameters: unknown[]): Promise<Row[]>
  }
  return {
    transaction: (work) => prisma.$transaction(work, { maxWait, timeout }),
    query: (tx, sql, parameters = []) => (tx as Sends).$queryRawUnsafe(sql, ...parameters),
  }
}

/** The part of a `MikroORM` that is used. */
export interface MikroOrm<Manager> {
  readonly em: { fork(): Manager }
}

/**
 * Carries MikroORM: handlers get an `EntityManager` of their own.
 *
 * @example
 * ```ts
 * import { MikroORM } from '@mikro-orm/postgresql'
 * import { fromMikroOrm, postgresInbox } from 'tix-webhooks/postgres'
 *
 * const orm = await MikroORM.init({ clientUrl: 'postgres://localhost/app', entities: ['entities/*.js'] })
 * const inbox = postgresInbox(fromMikroOrm(orm))
 * // in a handler: await ctx.tx.insert(Order, { id })
 * ```
 */
export function fromMikroOrm<Manager>(orm: MikroOrm<Manager>): LibraryDriver<Manager> {
  interface Sends {
    transactional<R>(work: (manager: Manager) => Promise<R>): Promise<R>
    execute(sql: string, values?: readonly unknown[]): Promise<Row[]>
  }
  return {
    refusesLate: true,
    transaction: (work) => (orm.em.fork() as Sends).transactional(work),
    query: (manager, sql, parameters = []) => (manager as Sends).execute(...positional(sql, parameters)),
  }
}

/** Has ? for each use of a parameter. */
function positional(sql: string, parameters: readonly unknown[]): [sql: string, values?: readonly unknown[]] {
  if (parameters.length === 0) return [sql]
  const values: unknown[] = []
  const raw = sql.replaceAll('?', '\\?').replace(/\$(\d+)/g, (_, n) => {
    values.push(parameters[n - 1])
    return '?'
  })
  return [raw, values]
}
