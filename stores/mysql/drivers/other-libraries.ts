import { describeType } from '../../../src/internal.js'
import { hasMethod } from '../../sql/has-method.js'

/** An object of a library that is neither a pool nor a driver, though some look like one. */
interface OtherLibrary {
  readonly name: string
  /** Methods that nothing else has together. */
  readonly methods: readonly string[]
  readonly isFunction?: boolean
  /** The lines that make an inbox of it. */
  readonly inbox: string
  /** The lines that make a store of it. Default: a pool beside it. */
  readonly store?: string
}

const POOL = 'mysql.createPool(process.env.DATABASE_URL)'
const STORE = `import mysql from 'mysql2/promise' and call mysqlStore(${POOL})`
const INBOX = `import mysql from 'mysql2/promise' and call mysqlInbox(${POOL})`

const OTHERS: readonly OtherLibrary[] = [
  {
    name: 'a pool of mysql2 with callbacks',
    methods: ['getConnection', 'query', 'promise'],
    inbox: 'mysqlInbox(pool.promise())',
    store: 'mysqlStore(pool.promise())',
  },
  {
    name: 'a DataSource of TypeORM',
    methods: ['createQueryRunner', 'getRepository', 'transaction'],
    inbox:
      'mysqlInbox({ transaction: (work) => dataSource.transaction(work), query: (manager, sql) => manager.query(sql) })',
  },
  {
    name: 'an EntityManager of TypeORM',
    methods: ['getRepository', 'transaction', 'query', 'save'],
    inbox:
      'mysqlInbox({ transaction: (work) => manager.transaction(work), query: (tx, sql) => tx.query(sql) })',
  },
  {
    name: 'a Sequelize',
    methods: ['define', 'authenticate', 'transaction'],
    inbox:
      'mysqlInbox({ transaction: (work) => sequelize.transaction(work), query: async (transaction, sql) => (await sequelize.query(sql, { transaction }))[0] })',
  },
  {
    name: 'a knex',
    methods: ['raw', 'transaction'],
    isFunction: true,
    inbox: 'mysqlInbox({ transaction: (work) => knex.transaction(work), query: (trx, sql) => trx.raw(sql) })',
  },
  {
    name: 'a Prisma client',
    methods: ['$transaction', '$queryRawUnsafe'],
    inbox:
      'mysqlInbox({ transaction: (work) => prisma.$transaction(work, { maxWait: 2_000, timeout: 310_000 }), query: (tx, sql) => tx.$queryRawUnsafe(sql) }), with Prisma 7, and with useTextProtocol of its adapter for MySQL',
  },
  {
    name: 'a Drizzle database',
    methods: ['select', 'insert', 'execute', 'transaction'],
    inbox: 'mysqlInbox(pool, { as: (connection) => drizzle(connection) }), with the pool that it is made of',
    store: 'mysqlStore(pool), with the pool that it is made of',
  },
  {
    name: 'a Kysely',
    methods: ['selectFrom', 'executeQuery', 'transaction'],
    inbox:
      'mysqlInbox({ transaction: (work) => db.transaction().execute(work), query: async (tx, sql) => (await tx.executeQuery(CompiledQuery.raw(sql))).rows })',
    store: 'mysqlStore(createPool(process.env.DATABASE_URL).promise()), with createPool of mysql2',
  },
  {
    name: 'a PlanetScale client over HTTP, where no transaction stays open',
    methods: ['execute', 'transaction', 'connection'],
    inbox: INBOX,
  },
  {
    name: 'a single connection, which cannot serve concurrent deliveries',
    methods: ['beginTransaction', 'query'],
    inbox: INBOX,
  },
  {
    name: 'a pool of the package mysql, or of mariadb/callback, which has no promises',
    methods: ['getConnection', 'query'],
    inbox: INBOX,
  },
]

/** Whether it is the object of a library that is known to be neither a pool nor a driver. */
export function isOtherLibrary(value: unknown): boolean {
  return otherLibraryOf(value) !== undefined
}

/** An error with the lines to write instead. */
export function notAPool(value: unknown, factory: 'mysqlStore' | 'mysqlInbox' | 'mysqlFailures'): TypeError {
  const library = otherLibraryOf(value)
  if (library !== undefined) {
    const { name, inbox, store = STORE } = library
    return new TypeError(`This is ${name}. Instead: ${factory === 'mysqlStore' ? store : forFactory()}.`)

    /** Failures take what the inbox takes, but hand no transaction to a handler. */
    function forFactory(): string {
      if (factory === 'mysqlInbox') return inbox
      return inbox
        .replace(', { as: (connection) => drizzle(connection) }', '')
        .replaceAll('mysqlInbox', factory)
    }
  }
  const others =
    factory === 'mysqlStore'
      ? ''
      : ' For other libraries pass a driver, { transaction, query }: see docs/libraries.md.'
  return new TypeError(
    `pool must be a pool of mysql2/promise or of mariadb, not ${describeType(value)} without their methods.${others}`,
  )
}

function otherLibraryOf(value: unknown): OtherLibrary | undefined {
  const isFunction = typeof value === 'function'
  return OTHERS.find(
    (library) =>
      (library.isFunction ?? false) === isFunction &&
      library.methods.every((method) => hasMethod(value, method)),
  )
}
