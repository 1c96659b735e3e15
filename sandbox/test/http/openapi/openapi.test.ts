/** @module-tag slow */
import { Validator } from '@seriousme/openapi-schema-validator'
import { Ajv2020 } from 'ajv/dist/2020.js'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { runs } from '../../../../test/support/runs.js'
import { createEventBody } from '../../../domain/requests/requests.js'
import { API_ERROR_CODES } from '../../../http/errors.js'
import { describeApi } from '../../../http/openapi/openapi.js'
import { OPERATIONS } from '../../../http/openapi/operations.js'
import { ASSUMPTIONS, assume } from '../../../service/assumptions.js'
import { apiFixture, contractWith, EVENT } from '../../support/http-sandbox.js'

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

test.each(READINGS)('[N29] with %s it is valid OpenAPI 3.1, and lists the assumptions', async (_, chosen) => {
  const document = describeWith(chosen)
  const { valid, errors } = await validator.validate(document)
  expect([valid, errors]).toEqual([true, undefined])
  const told = Object.entries(document['x-assumptions'] ?? {}).map(([name, { chosen }]) => [name, chosen])
  expect(Object.fromEntries(told)).toEqual({ ...assume(chosen) })
})

/** Section 4 of the specification, row by row. */
const SPECIFIED = [
  ...['post /v2/events', 'get /v2/events', 'get /v2/events/{id}', 'patch /v2/events/{id}'],
  ...['publish', 'cancel', 'reschedule'].map((action) => `post /v2/events/{id}/${action}`),
  ...['get /v2/venues', 'post /v2/sandbox/orders'],
]

test('[S93] has the endpoints of the specification, and no others', () => {
  const described = Object.entries(describeWith().paths ?? {}).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method} ${path}`),
  )
  expect(described.sort()).toEqual([...SPECIFIED].sort())
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
  const document = describeWith()
  /** Whether a node, or one that it is in, is marked. A path ends at a reference. */
  const isMarked = (path: string): boolean => {
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
    Object.keys(document.components?.schemas?.[name]?.properties ?? {}).map(
      (field) => `${schema(name)} properties ${field}`,
    )
  /** Beside the status, the form of the answer itself. */
  const formOf = (operation: string, status: number): Node | undefined => {
    const [path = '', method = ''] = operation.split(' ')
    return document.paths?.[path]?.[method]?.responses?.[status]?.content?.['application/json']
  }
  const ORDER = `${schema('OrderResult')} properties`
  const CREATED = 'webhooks order.created post'

  test('[N28] marks what the specification does not show', () => {
    const schemas = ['Error', 'Venue', 'TicketTier', 'CreateVenueBody', 'UpdateEventBody']
    const hidden = [
      ...[...schemas, 'RescheduleEventBody', 'EmptyBody'].map(schema),
      `${schema('Event')} properties description_md`,
      `${schema('Event')} properties image_url`,
      `${schema('CreatedEvent')} properties description_md`,
      `${schema('CreateEventBody')} properties image`,
      `${ORDER} order properties event_id`,
      `${ORDER} tickets items properties scan_token`,
      `${ORDER} tickets items properties wallet_pass_url`,
      'components headers RequestId',
      ...[0, 1, 2].map((index) => `paths /v2/venues get parameters ${index}`),
      ...['event.published', 'event.cancelled', 'event.rescheduled'].map(
        (kind) => `webhooks ${kind} post requestBody content application/json schema properties data`,
      ),
      `${CREATED} responses default`,
      `${CREATED} parameters 0 schema`,
      ...Object.keys(ASSUMPTIONS).map((name) => `x-assumptions ${name}`),
    ]
    expect(hidden.filter((path) => !isMarked(path))).toEqual([])
    const responses = Object.values(document.paths ?? {}).flatMap((path) =>
      Object.values(path).flatMap(({ responses = {} }) => Object.values(responses)),
    )
    for (const operation of ['/v2/events get', '/v2/venues get', '/v2/events/{id} patch']) {
      expect(formOf(operation, 200)).toMatchObject({ 'x-not-shown': true })
    }
    for (const action of ['publish', 'cancel', 'reschedule']) {
      expect(formOf(`/v2/events/{id}/${action} post`, 200)).toMatchObject({ 'x-not-shown': true })
    }
    // No status is shown.
    expect(responses.filter((response) => response['x-not-shown'] !== (true as unknown))).toEqual([])
  })

  test('[N28] marks nothing that it shows', () => {
    const shown = [
      ...fieldsOf('Event').filter((path) => !/(description_md|image_url)$/.test(path)),
      ...fieldsOf('CreateEventBody').filter((path) => !/image$/.test(path)),
      ...fieldsOf('CreateOrderBody'),
      `${ORDER} order properties total_cents`,
      `${ORDER} tickets items properties tier`,
      `${CREATED} requestBody content application/json schema properties data`,
      `${CREATED} parameters 0 name`,
      ...[0, 1, 2, 3, 4, 5, 6].map((index) => `paths /v2/events get parameters ${index}`),
    ]
    expect(shown.filter(isMarked)).toEqual([])
    const forms = [
      formOf('/v2/events post', 201),
      formOf('/v2/events/{id} get', 200),
      formOf('/v2/sandbox/orders post', 201),
    ]
    expect(forms).toEqual(Array(3).fill({ schema: { $ref: expect.any(String) } }))
  })
})

test.each(Object.keys(ASSUMPTIONS.signature.choices))(
  '[S5] [S39] [S42] [S44] [S79] [S84] [S88] [S91] [S92] what is sent, signed by %s, is what the description says',
  async (signature) => {
    const sandbox = apiFixture({ assume: { signature } })
    sandbox.service.engine.createEndpoint({ url: 'http://127.0.0.1:3000/hooks' })
    await sandbox.order({
      before: (id) => sandbox.act(id, 'reschedule', { doors_at: '2026-12-02T20:00+01:00' }),
    })
    const { id } = await sandbox.create()
    await sandbox.act(id, 'cancel')
    await sandbox.service.clock.idle()

    const sent = sandbox.sent.map(({ headers, body }) => ({ headers, body: Buffer.from(body).toString() }))
    const kinds = sent.map(({ body }) => JSON.parse(body).type)
    expect(kinds.sort()).toEqual(['event.cancelled', 'event.published', 'event.rescheduled', 'order.created'])
    const { checkWebhook } = contractWith(sandbox.service.assumptions)
    for (const { headers, body } of sent) checkWebhook(headers, body)
  },
)

const [tier] = EVENT.tickets

/** A body with a text in one place. */
const PLACES: Readonly<Record<string, (text: string) => object>> = {
  title: (title) => ({ ...EVENT, title }),
  'name of a tier': (name) => ({ ...EVENT, tickets: [{ ...tier, name }] }),
  'name of a venue': (name) => ({ ...EVENT, venue_id: undefined, venue: { name } }),
  description_md: (description_md) => ({ ...EVENT, description_md }),
}

/** Characters at which a schema and a check may differ: blanks, controls, markup, and one that JavaScript counts twice. */
const texts = fc.oneof(
  fc.string({
    unit: fc.constantFrom(...' \t\n\r\0\u0007\u007f\u0085\u00a0\u2003\u2028\ufeff<a/!?\u{1f600}'),
    maxLength: 6,
  }),
  fc
    .tuple(fc.constantFrom('a', '\u{1f600}'), fc.constantFrom(100, 101, 200, 201, 5000, 5001))
    .map(([unit, length]) => unit.repeat(length)),
)

/** As the document has it, for readers of it in any language. */
const fits = new Ajv2020({ strict: false, validateFormats: false }).compile(
  z.toJSONSchema(createEventBody, { io: 'input' }),
)

test.each(Object.entries(PLACES))(
  'the schema of a request and its check agree on the %s',
  (place, bodyWith) => {
    fc.assert(
      fc.property(texts, (text) => {
        const isAccepted = (sent: string): boolean => createEventBody.safeParse(bodyWith(sent)).success
        const isFitting = (sent: string): boolean => fits(JSON.parse(JSON.stringify(bodyWith(sent))))
        // A text that fits is accepted; one that is accepted fits without the blanks and line breaks around it.
        if (isFitting(text)) expect(isAccepted(text)).toBe(true)
        const bare = place === 'description_md' ? text : text.trim()
        expect(isFitting(bare)).toBe(isAccepted(bare))
      }),
      { numRuns: runs(300), examples: [[' '], ['\u{1f600}'.repeat(200)], ['a\u0000']] },
    )
  },
)
