import { describeType } from '../../src/internal.js'

/** What to pass instead of the object of a library, by methods that nothing else has together. */
const INSTEAD: readonly (readonly [instead: string, ...methods: string[]])[] = [
  ['fromPrisma(prisma)', '$transaction'],
  ['fromTypeOrm(dataSource)', 'createQueryRunner'],
  ['fromTypeOrm(dataSource)', 'getRepository', 'transaction'],
  ['fromSequelize(sequelize)', 'define', 'authenticate'],
  ['fromKysely(db, pool)', 'selectFrom'],
  ['fromKnex(knex)', 'raw', 'transaction'],
  ['fromMikroOrm(orm)', 'discoverEntity'],
  ['fromMikroOrm(orm)', 'fork', 'transactional'],
  ['a pool and { as: (client) => drizzle(client) }', 'select', 'insert', 'execute'],
  ['pool.promise()', 'getConnection', 'promise'],
  ['a driver, { transaction, query },', 'exec', 'transaction'],
]

/** Whether it is a driver, and nothing of a library that looks like one. */
export function isDriver(value: unknown): boolean {
  const has = (method: string): boolean => hasMethod(value, method)
  if (typeof value !== 'object' || has('connect') || has('getConnection')) return false
  return has('transaction') && has('query') && insteadOf(value) === undefined
}

/** @param wanted what a store or an inbox takes, in words */
export function notAPool(value: unknown, wanted: string): TypeError {
  const instead = insteadOf(value)
  const advice = instead === undefined ? '' : ` Pass ${instead} to an inbox.`
  return new TypeError(
    `pool must be ${wanted}, not ${describeType(value)} without their methods.${advice} For other libraries see docs/libraries.md.`,
  )
}

function insteadOf(value: unknown): string | undefined {
  return INSTEAD.find(([, ...methods]) => methods.every((method) => hasMethod(value, method)))?.[0]
}

/** Whether a value, of any type, has a method of that name. */
export function hasMethod(value: unknown, name: string): boolean {
  return typeof (value as Record<string, unknown> | null | undefined)?.[name] === 'function'
}
