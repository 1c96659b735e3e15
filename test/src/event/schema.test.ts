import { Ajv } from 'ajv'
import { ConfigurationError, PayloadError, parseEvent, type SchemaMap, unchecked } from 'tix-webhooks'
import * as v from 'valibot'
import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import { isStandardSchema, toPayloadIssues } from '../../../src/event/schema.js'
import { lifecycleEvent, orderCreated } from '../../support/deliveries.js'
import { throws } from '../../support/promises.js'
import { schemaOf } from '../../support/schema-of.js'

const read = (payload: object, schemas: SchemaMap) => parseEvent(JSON.stringify(payload), { schemas })

const published = lifecycleEvent('event.published', {
  event: {
    id: 'evt_1',
    doors_at: '2026-06-01T19:00:00+02:00',
    tiers: [{ cents: 5400 }, { cents: 'MARKER' }],
  },
})
const good = lifecycleEvent('event.published', {
  event: { id: 'evt_1', doors_at: '2026-06-01T19:00:00+02:00', tiers: [{ cents: 5400 }] },
})

describe('a schema', () => {
  const schema = z.object({
    event: z.object({
      id: z.string(),
      doors_at: z.string().transform((text) => new Date(text)),
      tiers: z.array(z.object({ cents: z.number() })),
    }),
  })

  test('gives its output as the data, and leaves the envelope as it was', async () => {
    const sent = { ...good, id: 'evt_9', extra: [1] }
    expect(await read(sent, { 'event.published': schema })).toEqual({
      ...sent,
      data: { event: { id: 'evt_1', doors_at: new Date('2026-06-01T17:00:00Z'), tiers: [{ cents: 5400 }] } },
    })
  })

  test('refuses with issues that lead to the fault, and a message that names the place alone', async () => {
    const event = read(published, { 'event.published': schema })
    await expect(event).rejects.toBeInstanceOf(PayloadError)
    await expect(event).rejects.toMatchObject({
      code: 'data_mismatch',
      message: 'The data of event.published does not fit its schema, at data.event.tiers.1.cents.',
      issues: [{ path: ['data', 'event', 'tiers', 1, 'cents'], message: expect.stringMatching(/number/) }],
    })
  })

  test('that is asynchronous is awaited, and replaces the built-in check of its kind', async () => {
    const schemas = {
      'order.created': z.object({ order: z.string().refine(async (text) => text === 'ok') }),
    }
    const sent = { ...orderCreated(), data: { order: 'ok' } }
    expect(await read(sent, schemas)).toEqual(sent)
    await expect(read({ ...sent, data: { order: 'no' } }, schemas)).rejects.toMatchObject({
      code: 'data_mismatch',
      issues: [{ path: ['data', 'order'] }],
    })
  })
})

describe('the message', () => {
  test('never repeats what the schema says, as it can quote the payload; the issues do', async () => {
    const schema = v.object({ email: v.literal('nobody') })
    const event = read(lifecycleEvent('x.y', { email: 'MARKER' }), { 'x.y': schema })
    await expect(event).rejects.not.toThrow(/MARKER/)
    await expect(event).rejects.toMatchObject({ issues: [{ message: expect.stringContaining('MARKER') }] })
  })

  test('stays short, however many issues there are', { tags: ['slow'] }, async () => {
    const issues = Array.from({ length: 100_000 }, (_, i) => ({ message: 'wrong', path: [i] }))
    const event = read(lifecycleEvent('x.y'), { 'x.y': schemaOf(() => ({ issues })) })
    await expect(event).rejects.toThrow(/ at data\.0; data\.1; data\.2; data\.3; data\.4; and 99995 more\.$/)
    await expect(event).rejects.toHaveProperty('issues.length', 100_000)
  })
})

test('a path of keys and a path of objects with keys are one path', () => {
  const symbol = Symbol('s')
  expect(toPayloadIssues([{ message: 'm', path: ['a', { key: 'b' }, 0, { key: symbol }] }], 'data')).toEqual([
    { path: ['data', 'a', 'b', 0, symbol], message: 'm' },
  ])
})

describe('a schema that returns no result is a misconfiguration', () => {
  const validate = new Ajv().compile({ type: 'object', required: ['buyer'] })

  const NO_RESULT = /schema for x\.y returned .*: it must return \{ value \} or \{ issues \}/
  const THREW = /Your schema for x\.y threw/

  test.each<[string, unknown, RegExp]>([
    ['true, as the function of ajv does', validate({ buyer: 1 }), NO_RESULT],
    ['a text', 'ok', NO_RESULT],
    ['null', null, NO_RESULT],
    ['issues that are no list', { issues: 7 }, THREW],
    ['issues that are null', { value: 1, issues: null }, THREW],
  ])('%s', async (_, result, message) => {
    for (const given of [result, Promise.resolve(result)]) {
      const event = read(lifecycleEvent('x.y'), { 'x.y': schemaOf(() => given as never) })
      await expect(event).rejects.toBeInstanceOf(ConfigurationError)
      await expect(event).rejects.toThrow(message)
    }
  })
})

test.each<[string, (value: unknown) => unknown]>([
  ['throws', throws(new Error('down'))],
  ['rejects', async () => Promise.reject(new Error('down'))],
])('a schema that %s instead of answering is a misconfiguration', async (_, validate) => {
  const event = read(lifecycleEvent('x.y'), { 'x.y': schemaOf(validate) })
  await expect(event).rejects.toBeInstanceOf(ConfigurationError)
  await expect(event).rejects.toMatchObject({ code: 'misconfigured', cause: { message: 'down' } })
  await expect(event).rejects.toThrow(/Your schema for x\.y threw instead of returning issues: fix it/)
})

test('unchecked() checks nothing, and passes the data on as it is', async () => {
  const sent = lifecycleEvent('order.refunded', { cents: 'not a number', more: [null] })
  expect(await read(sent, { 'order.refunded': unchecked<{ cents: number }>() })).toEqual(sent)
})

describe('anything but a Standard Schema is a TypeError that names its kind', () => {
  test.each<[string, unknown]>([
    ['an object', { '~standard': { version: 1 } }],
    ['a string', 'schema'],
  ])('%s', async (type, schema) => {
    const event = read(lifecycleEvent('event.published'), { 'x.y': schema as SchemaMap[string] })
    await expect(event).rejects.toThrow(TypeError)
    await expect(event).rejects.toThrow(
      /schemas\["x\.y"\] must be a Standard Schema \(zod ≥ 3\.24.*unchecked<T>\(\)\)/,
    )
    await expect(event).rejects.toThrow(new RegExp(`not ${type}\\.$`))
  })

  test('and a function that has one is one, as arktype\u2019s are', () => {
    expect(isStandardSchema(Object.assign(() => {}, unchecked()))).toBe(true)
  })
})

test.each(['constructor', '__proto__'])('a payload of type %s finds no schema', async (type) => {
  const sent = lifecycleEvent(type, { a: 1 })
  expect(await read(sent, { 'x.y': schemaOf(() => ({ issues: [] })) })).toEqual(sent)
})
