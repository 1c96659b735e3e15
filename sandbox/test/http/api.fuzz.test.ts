/** @module-tag slow */
import fc, { type Arbitrary } from 'fast-check'
import { expect, test } from 'vitest'
import { runs } from '../../../test/support/runs.js'
import { OPERATIONS } from '../../http/openapi/operations.js'
import { apiFixture, EVENT } from '../support/http-sandbox.js'

/** Values that are odd in any field. */
const odd = fc.oneof(
  fc.jsonValue({ maxDepth: 3 }),
  fc.constantFrom(
    ...['', ' ', '\u0000', '\ud800', '__proto__', 'constructor', '<b>', 'data:,', '9'.repeat(400)],
  ),
  fc.constantFrom(1e308, -0, 2 ** 53),
  fc.string({ unit: 'binary', maxLength: 30 }),
)

/** Not sold out soon. */
const LARGE = { tickets: [{ name: 'GA', price_cents: 100, quantity: 1_000_000 }] }

/** A body of each operation that has one, with all of its fields. */
const BODIES: Readonly<Record<string, (event: { id: string; tickets: { id: string }[] }) => object>> = {
  createEvent: () => ({
    ...EVENT,
    venue: { name: 'Old mill', address: '1 Quay', city: 'York', country: 'GB', timezone: 'UTC', capacity: 9 },
    ends_at: '2026-12-01T23:00:00Z',
    on_sale_at: '2026-11-25T10:00:00+01:00',
    description_md: 'Bring *light*.',
    image: 'https://example.com/poster.jpg',
    refund_policy: 'refundable_7d',
    transferable: false,
  }),
  updateEvent: () => ({ title: 'Later', description_md: null, image: null, refund_policy: 'refundable_7d' }),
  publishEvent: () => ({}),
  cancelEvent: () => ({}),
  rescheduleEvent: () => ({ doors_at: '2027-12-01T19:00:00+01:00', ends_at: '2027-12-02T01:00:00+01:00' }),
  createOrder: ({ id, tickets }) => ({ event_id: id, ticket_tier_id: tickets[0]?.id, quantity: 2 }),
}

test.each(OPERATIONS.filter(({ body }) => body).map((operation) => [operation.id, operation] as const))(
  '%s never fails, whatever its body is: each answer is described',
  async (name, { method, path, status }) => {
    const sandbox = apiFixture()
    const event = await sandbox.create(LARGE)
    await sandbox.act(event.id, 'publish')
    const statuses = new Set<number>()
    await fc.assert(
      fc.asyncProperty(
        fc.oneof({ weight: 9, arbitrary: near(BODIES[name]?.(event)) }, odd),
        async (given) => {
          const answer = await sandbox.call(method.toUpperCase(), path.replace('{id}', event.id), {
            raw: JSON.stringify(given),
            headers: { 'content-type': 'application/json' },
          })
          statuses.add(answer.status)
          expect(sandbox.failures).toEqual([])
          expect(answer.status).toBeLessThan(500)
        },
      ),
      { numRuns: runs(70) },
    )
    // Otherwise it would have tried nothing but what is refused at once. An event is published once.
    expect([...statuses]).toEqual(expect.arrayContaining([400, name === 'publishEvent' ? 409 : status]))
  },
)

test.each(OPERATIONS.filter(({ query }) => query).map((operation) => [operation.id, operation] as const))(
  '%s never fails, whatever its query is: each answer is described',
  async (_, { path, query }) => {
    const sandbox = apiFixture()
    const { id } = await sandbox.create()
    const names = fc.oneof(fc.constantFrom(...Object.keys(query?.shape ?? {})), fc.string({ maxLength: 8 }))
    const values = fc.oneof(
      fc.constantFrom(id, '1', '100', '101', 'on_sale', '2026-12-01', '2026-12-01T00:00:00+01:00'),
      fc.string({ unit: 'grapheme', maxLength: 12 }),
    )
    const statuses = new Set<number>()
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(names, values), { maxLength: 4 }), async (pairs) => {
        const answer = await sandbox.call('GET', `${path}?${new URLSearchParams(pairs)}`)
        statuses.add(answer.status)
        expect([200, 400]).toContain(answer.status)
      }),
      { numRuns: runs(70) },
    )
    expect([...statuses].sort()).toEqual([200, 400])
  },
)

test('no path and no method fails: each answer is described', async () => {
  const sandbox = apiFixture()
  const { id } = await sandbox.create()
  const step = fc.oneof(
    fc.constantFrom('v2', 'events', 'venues', 'sandbox', 'orders', 'publish', 'cancel', id),
    fc.constantFrom('%', '%00', '%2F', '..', '', '*', ':id'),
    fc.webSegment({ size: 'xsmall' }),
  )
  const methods = fc.constantFrom('GET', 'HEAD', 'POST', 'PATCH', 'PUT', 'DELETE', 'OPTIONS', 'PROPFIND')
  await fc.assert(
    fc.asyncProperty(methods, fc.array(step, { maxLength: 4 }), async (method, steps) => {
      const answer = await sandbox.call(method, `/v2/${steps.join('/')}`)
      expect(answer.status).toBeLessThan(500)
    }),
    { numRuns: runs(120) },
  )
})

const CONTROL = [
  ['POST', 'clock', ['advance', 'to', 'freeze', 'run']],
  ['POST', 'endpoints', ['url', 'events', 'secret', 'enabled', 'mode']],
  ['PATCH', 'endpoints/ID', ['url', 'events', 'secret', 'enabled']],
  ['POST', 'endpoints/ID/rotate', ['secret', 'keep_old']],
  ['POST', 'resend', ['failed', 'since', 'to']],
  ['POST', 'deliveries/ID/resend', ['to']],
  ['POST', 'trigger', ['kind', 'set', 'data', 'chain', 'repeat', 'mode', 'wait']],
  ['POST', 'fill', ['account', 'venues', 'events']],
] as const

test.each(CONTROL)('%s /_sandbox/%s never fails, whatever its body is', async (method, path, names) => {
  const sandbox = apiFixture()
  const endpoint = sandbox.service.engine.createEndpoint({ url: 'http://127.0.0.1:3000/' })
  await sandbox.order()
  await sandbox.service.clock.idle()
  const id = path.startsWith('deliveries') ? sandbox.service.engine.deliveries()[0]?.id : endpoint.id
  const values = fc.oneof(
    odd,
    fc.constantFrom('http://127.0.0.1:3000/', 'http://8.8.8.8/', '1h', 'next', 'order.created', 'test'),
    fc.constantFrom<unknown>(['*'], true, 1, 'data.order.total_cents'),
    fc.dictionary(fc.constantFrom('data.order.total_cents', 'title', 'name', '__proto__', 'data'), odd, {
      maxKeys: 2,
    }),
  )
  const bodies = fc.dictionary(
    fc.oneof(
      { weight: 6, arbitrary: fc.constantFrom(...names) },
      { weight: 1, arbitrary: fc.string({ maxLength: 6 }) },
    ),
    values,
    { maxKeys: 4 },
  )
  await fc.assert(
    fc.asyncProperty(bodies, async (body) => {
      const answer = await sandbox.call(method, `/_sandbox/${path.replace('ID', id ?? '')}`, { body })
      expect(sandbox.failures).toEqual([])
      expect(answer.status).toBeLessThan(500)
      if (answer.status >= 400)
        expect(answer.json()).toMatchObject({
          error: { code: expect.any(String), message: expect.any(String) },
        })
    }),
    { numRuns: runs(60) },
  )
})

/** A value, sometimes with something else in some of its places, with more, or with less. */
function near(value: unknown): Arbitrary<unknown> {
  if (typeof value !== 'object' || value === null) return fc.constant(value)
  const seldomOdd = (arbitrary: Arbitrary<unknown>) =>
    fc.oneof(
      { weight: 28, arbitrary },
      { weight: 1, arbitrary: odd },
      { weight: 1, arbitrary: fc.constant(undefined) },
    )
  if (Array.isArray(value)) return fc.tuple(...value.map((inner) => seldomOdd(near(inner))))
  const fields = Object.entries(value).map(([name, inner]) => [name, seldomOdd(near(inner))] as const)
  return fc.record({ ...Object.fromEntries(fields), unknown: seldomOdd(fc.constant(undefined)) })
}
