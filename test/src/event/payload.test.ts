import { PayloadError, parseEvent } from 'tix-webhooks'
import { describe, expect, test } from 'vitest'
import { lifecycleEvent, orderCreated } from '../../support/deliveries.js'

/** The error of reading a body. */
async function errorOf(body: Uint8Array | string): Promise<PayloadError> {
  const thrown = await parseEvent(body).then(
    () => 'an event',
    (error: unknown) => error,
  )
  if (thrown instanceof PayloadError) return thrown
  throw new Error(`expected a PayloadError, got ${String(thrown)}`)
}

const encode = (text: string): Uint8Array => new TextEncoder().encode(text)

/** An envelope with data given as JSON text. */
const envelope = (data: string, type = 'x.y'): string =>
  `{"type":"${type}","created_at":"2026-05-17T14:02:11Z","data":${data}}`

const BOM = Uint8Array.of(0xef, 0xbb, 0xbf)

describe('a body that is no JSON', () => {
  const text = envelope('{"name":"zoë"}')

  test.each<[string, Uint8Array | string, RegExp]>([
    ['empty', '', /it is empty/],
    ['two byte order marks', Buffer.concat([BOM, BOM, encode(text)]), /cannot be parsed/],
    ['NaN', envelope('{"n":NaN}'), /cannot be parsed/],
    ['a byte that UTF-8 never has', Buffer.concat([encode(text), Uint8Array.of(0xff)]), /not valid UTF-8/],
    ['gzip', Uint8Array.of(0x1f, 0x8b, 0x08, 0x00), /not valid UTF-8 \(is it compressed\?\)/],
    ['UTF-16', Buffer.from(`\ufeff${text}`, 'utf16le'), /not valid UTF-8/],
  ])('is %s', async (_, body, message) => {
    const error = await errorOf(body)
    expect(error).toMatchObject({ name: 'PayloadError', code: 'not_json', issues: [] })
    expect(error.message).toMatch(/^The body is authentic, but not JSON: /)
    expect(error.message).toMatch(message)
  })

  test('is one level deeper than 256, or far deeper; and 256 are fine', async () => {
    // The envelope and its data are two of the levels.
    const lists = (levels: number): string =>
      envelope(`{"a":${'['.repeat(levels - 2)}${']'.repeat(levels - 2)}}`)
    await expect(parseEvent(lists(256))).resolves.toMatchObject({ type: 'x.y' })
    const both = envelope(`{"a":${'[{"a":'.repeat(50_000)}1${'}]'.repeat(50_000)}}`)
    for (const body of [lists(257), lists(100_000), both]) {
      const error = await errorOf(body)
      expect(error.code).toBe('not_json')
      expect(error.message).toMatch(/nested deeper than 256 levels/)
    }
  })
})

test('one byte order mark is no part of the JSON, on every delivery', async () => {
  for (let delivery = 0; delivery < 3; delivery++) {
    const event = await parseEvent(Buffer.concat([BOM, encode(envelope('{"a":1}'))]))
    expect(event.data).toEqual({ a: 1 })
  }
})

describe('JSON that is no envelope', () => {
  test.each<[string, unknown, [PropertyKey[], string][]]>([
    ['null', null, [[[], 'expected a JSON object, got null']]],
    ['a string', 'order.created', [[[], 'expected a JSON object, got a string']]],
    [
      'an empty object',
      {},
      [
        [['type'], 'expected a non-empty string, got undefined'],
        [['created_at'], 'expected a string, got undefined'],
        [['data'], 'expected an object, got undefined'],
      ],
    ],
    [
      'with an empty type',
      { ...orderCreated(), type: '' },
      [[['type'], 'expected a non-empty string, got an empty string']],
    ],
    ['with a list as data', { ...orderCreated(), data: [] }, [[['data'], 'got an array']]],
  ])('%s', async (_, value, issues) => {
    const error = await errorOf(JSON.stringify(value))
    expect(error).toMatchObject({ name: 'PayloadError', code: 'not_an_envelope' })
    expect(error.message).toMatch(/^The body is JSON, but not an envelope with type, created_at and data: /)
    expect(error.issues).toEqual(
      issues.map(([path, message]) => ({ path, message: expect.stringContaining(message) })),
    )
    for (const [path, message] of issues) {
      expect(error.message).toContain(message)
      expect(error.message).toContain(path.join('.'))
    }
  })

  test('is one whose fields are only inherited, by a __proto__ of the payload\u2019s', async () => {
    const error = await errorOf('{"__proto__":{"type":"x","created_at":"","data":{}}}')
    expect(error.issues).toHaveLength(3)
  })
})

describe('the data of order.created', () => {
  const order = { id: 'ord_1', total_cents: 5400, buyer_email: 'ada@example.com' }
  const ticket = { id: 'tik_1', tier: 'general admission' }

  const orderWith = (fields: object) => ({ order: { ...order, ...fields }, tickets: [ticket] })
  const ticketsOf = (...tickets: unknown[]) => ({ order, tickets })

  test.each<[PropertyKey[], string, unknown]>([
    [['order'], 'an object, got undefined', { tickets: [ticket] }],
    [['order'], 'an object, got an array', { order: [order], tickets: [ticket] }],
    [['order', 'id'], 'a string, got a number', orderWith({ id: 7 })],
    [['order', 'total_cents'], 'an integer, got a string', orderWith({ total_cents: '5400' })],
    [['order', 'total_cents'], 'an integer, got another number', orderWith({ total_cents: 54.5 })],
    [['tickets'], 'an array, got undefined', { order }],
    [['tickets', 1], 'an object, got null', ticketsOf(ticket, null)],
    [['tickets', 0], 'an object, got an array', ticketsOf([ticket])],
    [['tickets', 0, 'id'], 'a string, got a boolean', ticketsOf({ ...ticket, id: false })],
    [['tickets', 2, 'tier'], 'a string, got undefined', ticketsOf(ticket, ticket, { id: 'tik_3' })],
  ])('does not fit at %j: expected %s', async (path, expected, data) => {
    const error = await errorOf(JSON.stringify({ ...orderCreated(), data }))
    expect(error).toMatchObject({ name: 'PayloadError', code: 'data_mismatch' })
    expect(error.issues).toEqual([{ path: ['data', ...path], message: `expected ${expected}` }])
    expect(error.message).toBe(
      `The data of order.created is not as documented: ${['data', ...path].join('.')}: expected ${expected}.`,
    )
  })

  test('may have values and fields that are not documented, and is passed on untouched', async () => {
    const data = {
      order: { ...order, total_cents: -100, buyer_email: '', currency: 'EUR', fees: [1] },
      tickets: [{ ...ticket, seat: null }],
      x: {},
    }
    const sent = { ...orderCreated(), data }
    expect(await parseEvent(JSON.stringify(sent))).toEqual(sent)
  })
})

test('an object on Object.prototype makes no body too deep', async () => {
  const sent = lifecycleEvent('event.published', { note: 'x'.repeat(600) })
  Object.defineProperty(Object.prototype, 'polluted', {
    value: {},
    enumerable: true,
    configurable: true,
    writable: true,
  })
  try {
    expect((await parseEvent(JSON.stringify(sent))).type).toBe('event.published')
  } finally {
    Reflect.deleteProperty(Object.prototype, 'polluted')
  }
})
