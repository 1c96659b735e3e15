/** @module-tag slow */
import fc, { type Arbitrary } from 'fast-check'
import { expect, test } from 'vitest'
import { z } from 'zod'
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

test.each(OPERATIONS.filter(({ body }) => body).map((operation) => [operation.id, operation] as const))(
  '%s never fails, whatever its body is: each answer is described',
  async (name, { method, path, body, status }) => {
    const sandbox = apiFixture()
    const { id, tickets } = await sandbox.create(LARGE)
    await sandbox.act(id, 'publish')
    // An event is published and cancelled once: then the body alone can be wrong.
    const isDone = name === 'publishEvent'
    const venues = sandbox.service.accounts.test.listVenues({}).data.map((venue) => venue.id)
    const known = [id, ...tickets.map((tier) => tier.id), ...venues]
    const schema = z.toJSONSchema(body?.schema ?? z.never(), { io: 'input' })
    const statuses = new Set<number>()
    const send = async (given: unknown) => {
      const answer = await sandbox.call(method.toUpperCase(), path.replace('{id}', id), {
        raw: JSON.stringify(given),
        headers: { 'content-type': 'application/json' },
      })
      statuses.add(answer.status)
      return answer
    }
    await fc.assert(
      fc.asyncProperty(fc.oneof(like(schema, known), near(like(schema, known), odd)), async (given) => {
        const answer = await send(given)
        expect(sandbox.failures).toEqual([])
        expect(answer.status).toBeLessThan(500)
      }),
      { numRuns: runs(70) },
    )
    // Otherwise it would have tried nothing but what is refused at once. One body in some twenty is accepted: 70 may have none.
    const wanted = isDone ? [400, 409] : [400, status]
    for (const given of fc.sample(like(schema, known), 1000)) {
      if (wanted.every((one) => statuses.has(one))) break
      await send(given)
    }
    expect([...statuses]).toEqual(expect.arrayContaining(wanted))
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

test('no bytes fail', async () => {
  const sandbox = apiFixture()
  const text = JSON.stringify(EVENT)
  const damaged = fc
    .tuple(fc.nat(text.length), fc.nat(20), fc.uint8Array({ maxLength: 20 }))
    .map(([at, length, bytes]) =>
      Buffer.concat([Buffer.from(text.slice(0, at)), bytes, Buffer.from(text.slice(at + length))]),
    )
  await fc.assert(
    fc.asyncProperty(fc.oneof(damaged, fc.uint8Array()), async (raw) => {
      const answer = await sandbox.call('POST', '/v2/events', {
        raw: new Uint8Array(raw),
        headers: { 'content-type': 'application/json' },
      })
      expect([200, 201, 400]).toContain(answer.status)
    }),
    { numRuns: runs(70) },
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

/** The parts of JSON Schema that requests use. */
interface Schema {
  readonly $ref?: string
  readonly $defs?: Readonly<Record<string, Schema>>
  readonly anyOf?: readonly Schema[]
  readonly type?: string | readonly string[]
  readonly enum?: readonly unknown[]
  readonly pattern?: string
  readonly format?: string
  readonly minimum?: number
  readonly maximum?: number
  readonly minLength?: number
  readonly minItems?: number
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly items?: Schema
}

/** Times, most of them in the future. */
const moments = fc
  .tuple(
    fc.oneof(
      { weight: 9, arbitrary: fc.integer({ min: Date.UTC(2027, 0), max: Date.UTC(2030, 0) }) },
      { weight: 1, arbitrary: fc.integer({ min: Date.UTC(1969, 0), max: Date.UTC(2027, 0) }) },
    ),
    fc.oneof(
      { weight: 9, arbitrary: fc.constantFrom('Z', '+01:00', '-08:00') },
      { weight: 1, arbitrary: fc.constantFrom('', '-23:59', '+0100') },
    ),
  )
  .map(([ms, offset]) => new Date(ms).toISOString().replace('Z', offset))

const urls = fc.constantFrom('https://example.com/poster.jpg', 'data:,', 'ftp://example.com/')

/** The most optional fields that are present. */
const MOST_OPTIONAL = 3

/**
 * Values that mostly fit a schema, so that many of them are accepted.
 *
 * @param known the existing ids
 */
function like(schema: object, known: readonly string[]): Arbitrary<unknown> {
  const root = schema as Schema
  const from = (at: Schema): Arbitrary<unknown> => {
    if (at.$ref !== undefined) return from(root.$defs?.[at.$ref.split('/').at(-1) ?? ''] ?? {})
    if (at.anyOf !== undefined) return fc.oneof(...at.anyOf.map(from))
    if (at.enum !== undefined) return fc.constantFrom(...at.enum)
    const types = [at.type ?? 'null'].flat()
    return fc.oneof(...types.map((type) => ofType(type, at)))
  }
  const ofType = (type: string, at: Schema): Arbitrary<unknown> => {
    if (type === 'object') return objects(at)
    if (type === 'array') return fc.array(from(at.items ?? {}), { minLength: at.minItems ?? 0, maxLength: 4 })
    if (type === 'integer') {
      const { minimum = 0, maximum = 100 } = at
      return fc.oneof(fc.integer({ min: minimum, max: Math.min(maximum, minimum + 5) }), fc.constant(maximum))
    }
    if (type === 'boolean') return fc.boolean()
    return type === 'string' ? texts(at) : fc.constant(null)
  }
  const objects = ({ properties = {}, required = [] }: Schema): Arbitrary<unknown> => {
    const fields: Record<string, Arbitrary<unknown>> = {}
    for (const [name, field] of Object.entries(properties)) fields[name] = from(field)
    const optional = Object.keys(properties).filter((name) => !required.includes(name))
    const chosen = fc.subarray(optional, { maxLength: Math.min(MOST_OPTIONAL, optional.length) })
    return fc
      .tuple(fc.record(fields), chosen)
      .map(([whole, names]) => Object.fromEntries([...required, ...names].map((name) => [name, whole[name]])))
  }
  const texts = ({ pattern = '', format, minLength = 0 }: Schema): Arbitrary<unknown> => {
    const fitting = known.filter((id) => pattern !== '' && new RegExp(pattern).test(id))
    const any = fc.string({ unit: 'grapheme', minLength, maxLength: 20 })
    if (format === 'uri') return urls
    if (pattern.includes('T(')) return moments
    return fitting.length === 0
      ? any
      : fc.oneof({ weight: 9, arbitrary: fc.constantFrom(...fitting) }, { weight: 1, arbitrary: any })
  }
  return from(root)
}

/** A value, sometimes with something else in one of its places. */
function near(values: Arbitrary<unknown>, other: Arbitrary<unknown>): Arbitrary<unknown> {
  return fc
    .tuple(
      values,
      fc.array(fc.tuple(fc.nat(), fc.constantFrom('replace', 'remove', 'add'), other), { maxLength: 2 }),
    )
    .map(([value, changes]) =>
      changes.reduce<unknown>((at, [place, how, by]) => changed(at, place, how, by), value),
    )
}

function changed(value: unknown, place: number, how: string, by: unknown): unknown {
  if (typeof value !== 'object' || value === null) return by
  const keys = Object.keys(value)
  if (how === 'add' || keys.length === 0) {
    return Array.isArray(value) ? [...value, by] : { ...value, [JSON.stringify(by).slice(0, 20)]: by }
  }
  const key = keys[place % keys.length] ?? ''
  const deeper = Math.floor(place / keys.length)
  const inner = (value as Record<string, unknown>)[key]
  if (how === 'remove') {
    return Array.isArray(value)
      ? value.filter((_, index) => String(index) !== key)
      : Object.fromEntries(Object.entries(value).filter(([name]) => name !== key))
  }
  const replaced = deeper % 2 === 1 ? changed(inner, deeper, how, by) : by
  return Array.isArray(value)
    ? value.map((one, index) => (String(index) === key ? replaced : one))
    : { ...value, [key]: replaced }
}
