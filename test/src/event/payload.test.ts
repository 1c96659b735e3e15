import fc from 'fast-check'
import { PayloadError, type PayloadIssue, parseEvent } from 'tix-webhooks'
import { envelopes, eventsOf, notEnvelopes } from 'tix-webhooks/testing/fast-check'
import { describe, expect, test } from 'vitest'
import { orderCreated } from '../../support/deliveries.js'

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

test('undocumented fields pass untouched: any JSON at all', async () => {
  await fc.assert(
    fc.asyncProperty(envelopes(), async (envelope) => {
      fc.pre(envelope.type !== 'order.created')
      const text = JSON.stringify(envelope)
      expect(await parseEvent(text)).toEqual(JSON.parse(text))
    }),
  )
})

test('an order as it is documented passes untouched', async () => {
  await fc.assert(
    fc.asyncProperty(eventsOf('order.created'), async (event) => {
      expect(await parseEvent(JSON.stringify(event))).toEqual(event)
    }),
  )
})

test('JSON that is no envelope is refused, with the place of each fault', async () => {
  await fc.assert(
    fc.asyncProperty(notEnvelopes(), async (value) => {
      const thrown = await parseEvent(JSON.stringify(value)).catch((error: unknown) => error)
      expect(thrown).toBeInstanceOf(PayloadError)
      const { code, issues } = thrown as PayloadError
      expect(code).toBe('not_an_envelope')
      expect(issues.length).toBeGreaterThan(0)
      for (const { path } of issues) expect(['', 'type', 'created_at', 'data']).toContain(path.join('.'))
    }),
  )
})

const MARKER = 'buyer@example.com'
const NUMBER = 4_242_424_242.5

const values = fc.constantFrom<unknown>(
  MARKER,
  `x${MARKER}`,
  NUMBER,
  [MARKER],
  [NUMBER, [MARKER]],
  true,
  null,
)
const keys = fc.constantFrom('order', 'tickets', 'id', 'total_cents', 'buyer_email', 'tier', 'data', 'x')
const objects = fc.letrec<{ object: unknown; list: unknown }>((tie) => ({
  object: fc.dictionary(keys, fc.oneof({ maxDepth: 3 }, values, tie('object'), tie('list')), { maxKeys: 5 }),
  list: fc.array(fc.oneof({ maxDepth: 3 }, values, tie('object')), { maxLength: 4 }),
})).object

const payloads = fc.oneof(
  // Orders with any part invalid.
  objects.map((data) => ({ ...orderCreated(), data })),
  // Envelopes with any part invalid.
  fc.record(
    {
      type: fc.oneof(values, fc.constant('order.created')),
      created_at: values,
      data: fc.oneof(values, objects),
      id: values,
    },
    { requiredKeys: [] },
  ),
  values,
)

function textsOf(error: PayloadError): string[] {
  return [error.message, error.name, ...error.issues.map((issue: PayloadIssue) => issue.message)]
}

test('no message quotes a value of the payload, whatever is wrong with it', { tags: ['slow'] }, async () => {
  let refused = 0
  await fc.assert(
    fc.asyncProperty(payloads, fc.nat(60), async (payload, cut) => {
      const text = JSON.stringify(payload)
      for (const body of [text, text.slice(0, -cut - 1), `${text}${MARKER}`]) {
        const thrown: unknown = await parseEvent(body).catch((error: unknown) => error)
        if (!(thrown instanceof Error)) continue
        expect(thrown).toBeInstanceOf(PayloadError)
        if (!(thrown instanceof PayloadError)) continue
        refused += 1
        for (const said of textsOf(thrown)) {
          expect(said).not.toContain(MARKER)
          expect(said).not.toContain('4242424242')
        }
      }
    }),
    { numRuns: 300 },
  )
  expect(refused).toBeGreaterThan(300)
})

test('a body with a million faults gives a short message, and every issue', { tags: ['slow'] }, async () => {
  const tickets = new Array(500_000).fill({})
  const thrown = await errorOf(JSON.stringify({ ...orderCreated(), data: { tickets } }))
  expect(thrown.issues).toHaveLength(1_000_001)
  expect(thrown.message.length).toBeLessThan(1000)
  expect(thrown.message).toMatch(/data\.order: expected an object, got undefined.*; and 999996 more\.$/)
})
