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

const POOL = 'new Pool({ connectionString: process.env.DATABASE_URL })'
const STORE = `import { Pool } from 'pg' and call postgresStore(${POOL})`
const INBOX = `import { Pool } from 'pg' and call postgresInbox(${POOL})`

const OTHERS: readonly OtherLibrary[] = [
  {
    name: 'a DataSource of TypeORM',
    methods: ['createQueryRunner', 'getRepository', 'transaction'],
    inbox:
      'postgresInbox({ transaction: (work) => dataSource.transaction(work), query: async (manager, text, parameters) => (await manager.queryRunner.query(text, [...parameters], true)).records })',
  },
  {
    name: 'an EntityManager of TypeORM',
    methods: ['getRepository', 'transaction', 'query', 'save'],
    inbox:
      'postgresInbox({ transaction: (work) => manager.transaction(work), query: async (tx, text, parameters) => (await tx.queryRunner.query(text, [...parameters], true)).records })',
  },
  {
    name: 'a Sequelize',
    methods: ['define', 'authenticate', 'transaction'],
    inbox:
      'postgresInbox({ transaction: (work) => sequelize.transaction(work), query: (transaction, text, parameters) => sequelize.query(text, { bind: [...parameters], transaction, type: QueryTypes.SELECT }) })',
  },
  {
    name: 'the HTTP function of Neon',
    methods: ['query', 'unsafe', 'transaction'],
    isFunction: true,
    inbox: `import { Pool } from '@neondatabase/serverless' and call postgresInbox(${POOL}): over HTTP no transaction stays open`,
    store: `import { Pool } from '@neondatabase/serverless' and call postgresStore(${POOL})`,
  },
  {
    name: 'a knex',
    methods: ['raw', 'transaction'],
    isFunction: true,
    inbox:
      "postgresInbox({ transaction: (work) => knex.transaction(work), query: async (trx, text, parameters) => { const values = []; return (await trx.raw(text.replace(/\\$(\\d+)/g, (_, n) => (values.push(parameters[n - 1]), '?')), values)).rows } })",
  },
  {
    name: 'a PGlite',
    methods: ['query', 'exec', 'transaction'],
    inbox:
      'postgresInbox({ transaction: (work) => db.transaction(work), query: async (tx, text, parameters) => (await tx.query(text, [...parameters])).rows })',
    store:
      'pass it to postgresInbox as a driver, { transaction: (work) => db.transaction(work), query: async (tx, text, parameters) => (await tx.query(text, [...parameters])).rows }, and pass that as inbox',
  },
  {
    name: 'a Prisma client',
    methods: ['$transaction', '$queryRawUnsafe'],
    inbox:
      'postgresInbox({ transaction: (work) => prisma.$transaction(work, { maxWait: 2_000, timeout: 310_000 }), query: (tx, text, parameters) => tx.$queryRawUnsafe(text, ...parameters) }), with Prisma 7',
  },
  {
    name: 'a Drizzle database',
    methods: ['select', 'insert', 'execute', 'transaction'],
    inbox:
      'postgresInbox(pool, { as: (client) => drizzle(client) }), with the Pool of pg that it is made of; for postgres.js see docs/libraries.md',
    store: 'postgresStore(pool), with the Pool of pg or the sql of postgres.js that it is made of',
  },
  {
    name: 'a Kysely',
    methods: ['selectFrom', 'executeQuery', 'transaction'],
    inbox:
      'postgresInbox({ transaction: (work) => db.transaction().execute(work), query: async (tx, text, parameters) => (await tx.executeQuery(CompiledQuery.raw(text, [...parameters]))).rows })',
    store: 'postgresStore(pool), with the Pool of pg that its dialect is made of',
  },
  {
    name: 'a single Client of pg, which cannot serve concurrent deliveries',
    methods: ['connect', 'query', 'escapeLiteral'],
    inbox: INBOX,
  },
]

/** Whether it is the object of a library that is known to be neither a pool nor a driver. */
export function isOtherLibrary(value: unknown): boolean {
  return otherLibraryOf(value) !== undefined
}

/** An error with the lines to write instead. */
export function notAPool(
  value: unknown,
  factory: 'postgresStore' | 'postgresInbox' | 'postgresFailures',
): TypeError {
  const library = otherLibraryOf(value)
  if (library !== undefined) {
    const { name, inbox, store = STORE } = library
    return new TypeError(`This is ${name}. Instead: ${factory === 'postgresStore' ? store : forFactory()}.`)

    /** Failures take what the inbox takes, but hand no transaction to a handler. */
    function forFactory(): string {
      if (factory === 'postgresInbox') return inbox
      return inbox.replace(', { as: (client) => drizzle(client) }', '').replaceAll('postgresInbox', factory)
    }
  }
  const others =
    factory !== 'postgresStore'
      ? ' For other libraries pass a driver, { transaction, query }: see docs/libraries.md.'
      : ''
  return new TypeError(
    `pool must be a Pool of pg, or the sql of postgres.js, not ${describeType(value)} without their methods.${others}`,
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
