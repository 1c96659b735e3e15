/** @module-tag slow */
import { Validator } from '@seriousme/openapi-schema-validator'
import { describe, expect, test } from 'vitest'
import { API_ERROR_CODES } from '../../../http/errors.js'
import { describeApi } from '../../../http/openapi/openapi.js'
import { OPERATIONS } from '../../../http/openapi/operations.js'
import { ASSUMPTIONS, assume } from '../../../service/assumptions.js'

/** Each reading of each assumption, by itself. */
const READINGS = Object.entries(ASSUMPTIONS).flatMap(([name, { choices }]) =>
  Object.keys(choices).map((choice) => [`${name}=${choice}`, { [name]: choice }] as const),
)

interface Node {
  readonly [name: string]: Node
}
const describeWith = (chosen: Readonly<Record<string, string>> = {}): Node =>
  JSON.parse(JSON.stringify(describeApi(assume(chosen), 'http://127.0.0.1:4010')))

/** One for all, because it compiles the whole schema of OpenAPI. */
const validator = new Validator()

test('has what linters ask for: a contact, a license, tags, descriptions, ids, and no schema without a use', () => {
  const document = describeWith()
  expect(document.info).toMatchObject({ contact: {}, license: {} })
  const tags = Object.values(document.tags ?? {}).map(({ name }) => name)
  const operations = Object.values(document.paths ?? {}).flatMap((path) => Object.values(path))
  for (const operation of operations) {
    expect(operation.description).toMatch(/^[A-Z].+\.$/)
    expect(tags).toEqual(expect.arrayContaining(Object.values(operation.tags ?? {})))
  }
  const received = Object.values(document.webhooks ?? {}).map(({ post }) => post)
  const ids = [...operations, ...received].map((operation) => operation?.operationId)
  expect(ids).toEqual([...new Set(ids)])
  expect(ids).not.toContain(undefined)
  const text = JSON.stringify(document)
  const schemas = Object.keys(document.components?.schemas ?? {})
  expect(schemas.filter((name) => !text.includes(`"#/components/schemas/${name}"`))).toEqual([])
})

describe.each(READINGS)('with %s', (_, chosen) => {
  test('is a valid OpenAPI 3.1 document', async () => {
    const document = describeWith(chosen)
    const { valid, errors } = await validator.validate(document)
    expect(errors).toBeUndefined()
    expect(valid).toBe(true)
  })

  test('[N29] lists the assumptions', () => {
    const told = Object.entries(describeWith(chosen)['x-assumptions'] ?? {}).map(([name, { chosen }]) => [
      name,
      chosen,
    ])
    expect(Object.fromEntries(told)).toEqual({ ...assume(chosen) })
  })

  test('refers to nothing that is not there', () => {
    const document = describeWith(chosen)
    const references = [...JSON.stringify(document).matchAll(/"\$ref":"#\/([^"]+)"/g)].map(
      ([, path]) => path ?? '',
    )
    expect(references.length).toBeGreaterThan(10)
    for (const reference of references) {
      const target = reference.split('/').reduce<Node | undefined>((at, name) => at?.[name], document)
      expect(target, reference).toBeDefined()
    }
  })
})

/** Section 4 of the specification, row by row. */
const SPECIFIED = [
  'post /v2/events',
  'get /v2/events',
  'get /v2/events/{id}',
  'patch /v2/events/{id}',
  'post /v2/events/{id}/publish',
  'post /v2/events/{id}/cancel',
  'post /v2/events/{id}/reschedule',
  'get /v2/venues',
  'post /v2/sandbox/orders',
]

test('[S93] has the endpoints of the specification, and no others', () => {
  const described = Object.entries(describeWith().paths ?? {}).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method} ${path}`),
  )
  expect(described.sort()).toEqual([...SPECIFIED].sort())
})

test('the query parameters of the lists are those of the specification', () => {
  const namesOf = (path: string) =>
    Object.values(describeWith().paths?.[path]?.get?.parameters ?? {}).map(({ name }) => String(name))
  const page = ['limit', 'starting_after', 'ending_before']
  expect(namesOf('/v2/events')).toEqual(['status', 'venue_id', 'starts_after', 'starts_before', ...page])
  expect(namesOf('/v2/venues')).toEqual(page)
  const limit = Object.values(describeWith().paths?.['/v2/events']?.get?.parameters ?? {})[4]
  expect(limit?.schema).toEqual({ type: 'integer', minimum: 1, maximum: 100, default: 25 })
})

test('the webhooks are the four kinds, signed, with an envelope of three fields', () => {
  const { webhooks } = describeWith()
  expect(Object.keys(webhooks ?? {})).toEqual([
    'order.created',
    'event.published',
    'event.cancelled',
    'event.rescheduled',
  ])
  for (const [kind, { post }] of Object.entries(webhooks ?? {})) {
    expect(Object.values(post?.parameters ?? {})).toMatchObject([
      { name: 'x-service-signature', in: 'header', required: true },
    ])
    const schema = post?.requestBody?.content?.['application/json']?.schema
    expect(schema).toMatchObject({
      required: ['type', 'created_at', 'data'],
      additionalProperties: false,
      properties: { type: { const: kind } },
    })
  }
})

test('each error has a status that is described, with the codes that it can have', () => {
  const codes = new Set<string>()
  for (const operation of OPERATIONS) {
    const { responses = {} } = describeWith().paths?.[operation.path]?.[operation.method] ?? {}
    for (const [status, { description }] of Object.entries(responses)) {
      if (Number(status) >= 400) for (const code of String(description).split(', ')) codes.add(code)
    }
  }
  // Errors of requests that no operation describes.
  const elsewhere = ['unknown_url', 'method_not_allowed']
  expect([...codes, ...elsewhere].sort()).toEqual([...API_ERROR_CODES].sort())
})

describe('x-not-shown', () => {
  /** Whether a node, or one that it is in, is marked. A path ends at a reference. */
  const isMarked = (path: string, document = describeWith()): boolean => {
    let at: Node | undefined = document
    let marked = false
    for (const step of path.split(' ')) {
      at = at?.[step]
      if (at === undefined) throw new Error(`There is no ${step} in ${path}.`)
      marked ||= at['x-not-shown'] !== undefined
    }
    return marked
  }
  const schema = (name: string) => `components schemas ${name}`
  const fieldsOf = (name: string) =>
    Object.keys(describeWith().components?.schemas?.[name]?.properties ?? {}).map(
      (field) => [`${schema(name)} properties ${field}`] as const,
    )

  const MARKED: readonly (readonly [string])[] = [
    [schema('Error')],
    [schema('Venue')],
    [schema('TicketTier')],
    [schema('CreateVenueBody')],
    [schema('UpdateEventBody')],
    [schema('RescheduleEventBody')],
    [schema('EmptyBody')],
    [`${schema('Event')} properties description_md`],
    [`${schema('Event')} properties image_url`],
    [`${schema('CreatedEvent')} properties description_md`],
    [`${schema('CreateEventBody')} properties image`],
    [`${schema('OrderResult')} properties order properties event_id`],
    [`${schema('OrderResult')} properties tickets items properties scan_token`],
    [`${schema('OrderResult')} properties tickets items properties wallet_pass_url`],
    ['components headers RequestId'],
    ['paths /v2/venues get parameters 0'],
    ['paths /v2/venues get parameters 1'],
    ['paths /v2/venues get parameters 2'],
    ...['event.published', 'event.cancelled', 'event.rescheduled'].map(
      (kind) =>
        [`webhooks ${kind} post requestBody content application/json schema properties data`] as const,
    ),
    ['webhooks order.created post responses default'],
    ['webhooks order.created post parameters 0 schema'],
    ...Object.keys(ASSUMPTIONS).map((name) => [`x-assumptions ${name}`] as const),
  ]

  test.each(MARKED)('[N28] marks %s', (path) => {
    expect(isMarked(path)).toBe(true)
  })

  test('[N28] marks every answer: no status is shown', () => {
    for (const path of Object.values(describeWith().paths ?? {})) {
      for (const { responses = {} } of Object.values(path)) {
        for (const response of Object.values(responses)) expect(response['x-not-shown']).toBe(true)
      }
    }
  })

  /** Beside the status, the form of the answer itself. */
  const formOf = (path: string, method: string, status: number, document = describeWith()): Node =>
    document.paths?.[path]?.[method]?.responses?.[status]?.content?.['application/json'] ?? {}

  test.each([
    ['/v2/events', 'get'],
    ['/v2/venues', 'get'],
    ['/v2/events/{id}', 'patch'],
    ['/v2/events/{id}/publish', 'post'],
    ['/v2/events/{id}/cancel', 'post'],
    ['/v2/events/{id}/reschedule', 'post'],
  ])('[N28] marks what %s answers to %s', (path, method) => {
    expect(formOf(path, method, 200)).toMatchObject({ 'x-not-shown': true })
  })

  test.each([
    ['/v2/events', 'post', 201],
    ['/v2/events/{id}', 'get', 200],
    ['/v2/sandbox/orders', 'post', 201],
  ])('[N28] does not mark what %s answers to %s, which the specification shows', (path, method, status) => {
    expect(formOf(path, method, status)).toEqual({ schema: { $ref: expect.any(String) } })
  })

  const SHOWN: readonly (readonly [string])[] = [
    ...fieldsOf('Event').filter(([path]) => !/(description_md|image_url)$/.test(path)),
    ...fieldsOf('CreateEventBody').filter(([path]) => !/image$/.test(path)),
    ...fieldsOf('CreateOrderBody'),
    [`${schema('OrderResult')} properties order properties total_cents`] as const,
    [`${schema('OrderResult')} properties tickets items properties tier`] as const,
    ['webhooks order.created post requestBody content application/json schema properties data'] as const,
    ['webhooks order.created post parameters 0 name'] as const,
    ...[0, 1, 2, 3, 4, 5, 6].map((index) => [`paths /v2/events get parameters ${index}`] as const),
  ]

  test.each(SHOWN)('[N28] does not mark %s, which the specification shows', (path) => {
    expect(isMarked(path)).toBe(false)
  })
})
