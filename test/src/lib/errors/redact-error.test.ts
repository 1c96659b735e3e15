import { inspect } from 'node:util'
import { Ajv } from 'ajv'
import { redactError, StoreError } from 'tix-webhooks'
import { describe, expect, test } from 'vitest'

const ADDRESS = 'buyer8@example.com'

interface Shape extends Error {
  readonly cause?: Shape
  readonly errors?: readonly Shape[]
}

/** All of an error that a logger could show. */
function shown(error: Shape | undefined): string {
  if (error === undefined) return ''
  const { message, stack = '', cause, errors = [] } = error
  return [message, stack, JSON.stringify(error), shown(cause), ...errors.map(shown)].join('\n')
}

const redacted = (error: unknown): Shape => redactError(error) as Shape

test('an error that has a new cause whenever it is asked is given up', () => {
  const endless = (): Error => Object.defineProperty(new Error('endless'), 'cause', { get: endless })
  expect(redacted(endless()).message).toBe('an unreadable error')
})

test.each([
  ["one of the user's code, with causes", new Error('no ink', { cause: new TypeError('no paper') })],
  ['one with properties', Object.assign(new Error('not printed'), { orderId: 'ord_1', status: 503 })],
  ['that of gRPC', Object.assign(new Error('5 NOT_FOUND: ord_1'), { code: 5, details: 'ord_1' })],
  [
    'that of yup',
    Object.assign(new Error('email must be a valid email'), {
      params: { path: 'email', value: 'ada@' },
      errors: ['email must be a valid email'],
      inner: [Object.assign(new Error('email must be a valid email'), { params: { path: 'email' } })],
    }),
  ],
  ['that of Ajv', new Ajv.ValidationError([{ keyword: 'type', params: { type: 'string' }, message: 'no' }])],
  [
    "that of the user's code with parameters",
    Object.assign(new Error("no 'A1' for ord_1"), {
      code: 'E_SEAT',
      params: { id: 'ord_1' },
      values: ['A1'],
    }),
  ],
  [
    'that of a search',
    Object.assign(new Error('no seat'), {
      query: 'select a seat with a view',
      sql: 'update me',
      where: 'row 5',
      parameters: { row: 5 },
    }),
  ],
  [
    'that of GraphQL',
    Object.assign(new Error('denied'), { query: 'query ($id: ID!) { order(id: $id) { id } }' }),
  ],
  ['one whose text has a dash', new Error('Select a seat from the map - none is left')],
])('an error without parameters of a database is returned as it is: %s', (_, error) => {
  expect(redactError(error)).toBe(error)
})

describe('parameters of a database are removed', () => {
  const SQL = 'insert into "orders" ("email", "seats") values'
  const INLINE = `${SQL} ('${ADDRESS}', 4711)`

  test.each<[string, object]>([
    [
      'from a statement before the message, as Knex writes it',
      {
        message: `${INLINE} - duplicate key value violates unique constraint`,
        detail: `Key (email)=(${ADDRESS}) already exists.`,
      },
    ],
    ['from an update', { message: `update orders set seats = 4711 where email = '${ADDRESS} - 1' - locked` }],
    [
      'from the text in quotes of MySQL',
      { message: `Duplicate entry '${ADDRESS}-4711' for key`, sqlMessage: 'Duplicate', sqlState: '23000' },
    ],
    [
      'from the values of Postgres',
      {
        message: `no ${ADDRESS}`,
        severity: 'ERROR',
        code: '23505',
        detail: `Key (email)=(${ADDRESS}) exists`,
        where: '4711',
      },
    ],
    [
      'from the parameters of Drizzle',
      { message: `no ${ADDRESS} 4711`, query: `${SQL} ($1, $2)`, params: [ADDRESS, 4711] },
    ],
    // Its statement may be another one than that which failed, and of any kind.
    [
      'from an error of a connection of postgres.js',
      {
        message: 'write CONNECTION_CLOSED',
        query: `DO $$ BEGIN PERFORM '${ADDRESS}' END $$`,
        parameters: [4711],
        args: [4711],
      },
    ],
    ['from nested values', { message: `no ${ADDRESS} 4711`, bindings: [[{ to: [ADDRESS] }], 4711] }],
    ['from the lines below', { message: `Failed:\nparams: ${ADDRESS},4711` }],
    [
      'from the details of PostgREST',
      {
        message: 'duplicate key',
        code: '23505',
        details: `Key (email)=(${ADDRESS}) exists, 4711`,
        hint: null,
      },
    ],
    [
      'from a command of Redis',
      { message: `ERR ${ADDRESS}`, command: { name: 'set', args: [ADDRESS, '4711'] } },
    ],
    [
      'from the message of Redis',
      { message: `ERR unknown command, with args beginning with: '${ADDRESS}' '4711' ` },
    ],
    [
      'from the message of MongoDB',
      { message: `E11000 duplicate key error index: email_1 dup key: { email: "${ADDRESS}", seats: 4711 }` },
    ],
    [
      'from the message of SQL Server',
      { message: `Cannot insert duplicate key. The duplicate key value is (${ADDRESS}, 4711).` },
    ],
    [
      'from a call of Prisma',
      {
        message: `\nInvalid \`prisma.buyer.create()\` invocation in\n/app/a.ts:3:20\n\n  2 \n→ 3 await prisma.buyer.create({\n        data: {\n          email: "${ADDRESS}",\n          seats: 4711,\n\n+         name: String\n        }\n      })\n\nArgument \`name\` is missing.`,
      },
    ],
  ])('%s', (_, { message, ...properties }: { message?: string }) => {
    const error = Object.assign(new RangeError(message), properties)
    expect(shown(error as unknown as Shape)).toMatch(/buyer8.*4711/s)
    const copy = redacted(error)
    expect(copy).toBeInstanceOf(RangeError)
    expect(shown(copy)).not.toMatch(/buyer8|4711/)
    expect(copy.stack).toMatch(/redact-error\.test/)
  })

  test('and the message of the database is kept', () => {
    expect(redacted(new Error(`${INLINE} - UNIQUE constraint failed`)).message).toBe(
      'insert into … - UNIQUE constraint failed',
    )
    const source = '  8 \n→ 9 await prisma.buyer.create('
    const prisma = `\nInvalid \`prisma.buyer.create()\` invocation in\n/app/a.ts:9:25\n\n${source}\nUnique constraint failed`
    expect(redacted(new Error(prisma)).message).toBe(
      'Invalid `prisma.buyer.create()` invocation: Unique constraint failed',
    )
  })

  const failedQuery = (): Error => new Error(`Failed query: ${SQL} ($1)\nparams: ${ADDRESS}`)

  test.each<[string, (error: Error) => unknown]>([
    ['a text that is thrown', (error) => error.message],
    ...['error', 'suppressed', 'inner', 'reason', 'parent'].map(
      (name): [string, (error: Error) => unknown] => [
        `the ${name} of an error`,
        (error) => Object.defineProperty(new Error('not saved'), name, { value: error }),
      ],
    ),
    ['the errors of an error', (error) => new AggregateError([error, error.message], 'not saved')],
    [
      'a chain of causes without an end',
      (error) => Array.from({ length: 1000 }).reduce((cause) => new Error('not saved', { cause }), error),
    ],
  ])('from %s', (_, wrap) => {
    const printed = inspect(redactError(wrap(failedQuery())), { depth: Infinity, showHidden: true })
    expect(printed).not.toMatch(/buyer8/)
    expect(printed).toMatch(/\[redacted\]|Failed query/)
  })

  test('but the frames of the stack are kept', () => {
    const error = Object.assign(new Error('no seat 120'), { bindings: [120, 'src'] })
    error.stack = 'Error: no seat 120\n    at book (/app/src/seats.ts:120:7)'
    expect(redacted(error).stack).toBe('Error: no seat [redacted]\n    at book (/app/src/seats.ts:120:7)')
  })

  test('from what wraps the error, which keeps the rest', () => {
    const cause = Object.assign(new Error('duplicate key'), {
      code: '23505',
      severity: 'ERROR',
      table: 'orders',
      params: [ADDRESS],
    })
    const problems = new AggregateError([new Error(`${ADDRESS} again`), cause], 'two problems')
    const error = Object.assign(
      new StoreError('store_unavailable', `no row for ${ADDRESS}`, { cause: problems }),
      { attempt: 3 },
    )
    const copy = redacted(error)
    expect(copy).toBeInstanceOf(StoreError)
    expect(copy).toMatchObject({
      code: 'store_unavailable',
      attempt: 3,
      message: 'no row for [redacted]',
      cause: { errors: [{ message: '[redacted] again' }, { code: '23505', table: 'orders' }] },
    })
    expect(shown(copy)).not.toMatch(/buyer8/)
    expect(shown(error as unknown as Shape), 'the error itself').toMatch(/buyer8/)
  })

  test('also where there are many, or the message is long', { tags: ['slow'] }, () => {
    const params = Array.from({ length: 60_000 }, (_, i) => `${i}-${ADDRESS}`)
    const query = `insert into t values ${params.map((_, i) => `($${i})`).join(', ')}`
    const started = process.cpuUsage()
    const copy = redacted(Object.assign(new Error(`Failed query: ${query} ${params[7]}`), { query, params }))
    expect(shown(copy)).not.toMatch(/buyer8/)
    for (const text of [
      "'".repeat(300_000),
      '\n'.repeat(300_000),
      `'${"''\\".repeat(100_000)}`,
      'select - '.repeat(50_000),
      'insert into '.repeat(50_000),
      'with a as '.repeat(50_000),
      'dup key: '.repeat(50_000),
      ')=('.repeat(100_000),
      '\nInvalid `'.repeat(50_000),
    ]) {
      expect(shown(redacted(Object.assign(new Error(text), { bindings: [] })))).toBeDefined()
    }
    const many = Array.from({ length: 5_000 }, (_, i) =>
      Object.assign(new Error(`no ${i}-${ADDRESS}`), { bindings: [`${i}-${ADDRESS}`], code: '23505' }),
    )
    const copies = redacted(new AggregateError(many)).errors ?? []
    expect(copies.map(shown).join('')).not.toMatch(/buyer8/)
    expect(copies.at(-1)).toMatchObject({ code: '23505' })
    // Quadratic work would take minutes.
    expect(process.cpuUsage(started).user).toBeLessThan(5_000_000)
  })
})
