import fc from 'fast-check'
import { PayloadError, type PayloadIssue, parseEvent } from 'tix-webhooks'
import { envelopes, eventsOf, notEnvelopes } from 'tix-webhooks/testing/fast-check'
import { expect, test } from 'vitest'
import { orderCreated } from '../../support/deliveries.js'

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

async function thrownBy(body: string): Promise<unknown> {
  return parseEvent(body).then(
    () => undefined,
    (error: unknown) => error,
  )
}

test('no message quotes a value of the payload, whatever is wrong with it', { tags: ['slow'] }, async () => {
  let refused = 0
  await fc.assert(
    fc.asyncProperty(payloads, fc.nat(60), async (payload, cut) => {
      const text = JSON.stringify(payload)
      for (const body of [text, text.slice(0, -cut - 1), `${text}${MARKER}`]) {
        const thrown = await thrownBy(body)
        if (thrown === undefined) continue
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
  const thrown = await thrownBy(JSON.stringify({ ...orderCreated(), data: { tickets } }))
  if (!(thrown instanceof PayloadError)) throw new Error(`expected a PayloadError, got ${String(thrown)}`)
  expect(thrown.issues).toHaveLength(1_000_001)
  expect(thrown.message.length).toBeLessThan(1000)
  expect(thrown.message).toMatch(/data\.order: expected an object, got undefined.*; and 999996 more\.$/)
})
