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

describe('an error without parameters of a database is returned as it is:', () => {
  test.each([
    ["one of the user's code, with causes", new Error('no ink', { cause: new TypeError('no paper') })],
    ['one with properties', Object.assign(new Error('not printed'), { orderId: 'ord_1', status: 503 })],
    ['that of a shell command', Object.assign(new Error('exit 1'), { command: 'lpr ticket.pdf' })],
    ['that of gRPC', Object.assign(new Error('5 NOT_FOUND: ord_1'), { code: 5, details: 'ord_1' })],
    [
      'that of a broken connection',
      Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' }),
    ],
    ['a text', 'no ink'],
    ['nothing', undefined],
  ])('%s', (_, error) => {
    expect(redactError(error)).toBe(error)
  })

  test('one that contains itself', () => {
    const error = new AggregateError([], 'many')
    error.errors.push(error)
    error.cause = error
    expect(redactError(error)).toBe(error)
  })

  test('but one that cannot be read, for an error that says so', () => {
    const { proxy, revoke } = Proxy.revocable({}, {})
    revoke()
    expect(redacted(proxy).message).toBe('an unreadable error')
  })
})

describe('parameters of a database are removed', () => {
  test.each<[string, object]>([
    [
      'from a statement before the message, as Knex writes it',
      {
        message: `insert into "orders" ("email", "seats") values ('${ADDRESS}', 4711) - duplicate key value violates unique constraint`,
        detail: `Key (email)=(${ADDRESS}) already exists.`,
      },
    ],
    [
      'from the text in quotes of MySQL',
      { message: `Duplicate entry '${ADDRESS}-4711' for key`, sqlMessage: '', sql: `INSERT … '${ADDRESS}'` },
    ],
    ['from nested values', { message: `no ${ADDRESS} 4711`, params: [[{ to: [ADDRESS] }], 4711] }],
    ['from bytes', { message: `no ${ADDRESS} 4711`, bindings: [Buffer.from(ADDRESS), 4711] }],
    ['from the lines below', { message: `Failed:\nparams: ${ADDRESS},4711` }],
    [
      'from the details of PostgREST',
      { message: 'duplicate key', details: `Key (email)=(${ADDRESS}) exists, 4711`, hint: null },
    ],
  ])('%s', (_, { message, ...properties }: { message?: string }) => {
    const error = Object.assign(new RangeError(message), properties)
    expect(shown(error as unknown as Shape)).toMatch(/buyer8.*4711/s)
    const copy = redacted(error)
    expect(copy).toBeInstanceOf(RangeError)
    expect(shown(copy)).not.toMatch(/buyer8|4711/)
    expect(copy.stack).toMatch(/redact-error\.test/)
  })

  test('from what wraps the error, which keeps the rest', () => {
    const cause = Object.assign(new Error('duplicate key'), {
      code: '23505',
      table: 'orders',
      params: [ADDRESS],
    })
    const problems = new AggregateError([new Error(`${ADDRESS} again`), cause], 'two problems')
    const error = Object.assign(
      new StoreError('store_unavailable', `no row for ${ADDRESS}`, { cause: problems }),
      {
        attempt: 3,
      },
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

  test('and not from within the names of tables', () => {
    const copy = redacted(
      Object.assign(new Error('no relation "orders", order'), { params: ['order', 'no', ''] }),
    )
    expect(copy.message).toBe('no relation "orders", [redacted]')
  })

  test('also where there are many, or the message is long', () => {
    const params = Array.from({ length: 60_000 }, (_, i) => `${i}-${ADDRESS}`)
    const query = `insert into t values ${params.map((_, i) => `($${i})`).join(', ')}`
    const started = performance.now()
    const copy = redacted(Object.assign(new Error(`Failed query: ${query} ${params[7]}`), { query, params }))
    expect(shown(copy)).not.toMatch(/buyer8/)
    for (const text of [
      "'".repeat(300_000),
      '\n'.repeat(300_000),
      `'${"''\\".repeat(100_000)}`,
      'select - '.repeat(50_000),
    ]) {
      expect(shown(redacted(Object.assign(new Error(text), { query: 'q' })))).toBeDefined()
    }
    // Quadratic work would take minutes.
    expect(performance.now() - started).toBeLessThan(5_000)
  })
})
