import { describeType } from './describe-type.js'
import { ConfigurationError, PayloadError, type PayloadIssue } from './errors.js'
import { type AnyEvent, isJsonObject, type UnknownEvent } from './events.js'
import { isRecord } from './option-names.js'
import { isStandardSchema, type SchemaMap, toPayloadIssues } from './schema.js'

/** Deeper than any real payload, and shallow enough for every recursive walk after ours: schemas, clones, JSON.stringify. */
const MAX_DEPTH = 256

const MAX_ISSUES_SHOWN = 5

/** Strict, so that bytes which are no UTF-8 are refused rather than replaced; strips one leading byte order mark. */
const utf8 = new TextDecoder('utf-8', { fatal: true })

/**
 * Reads the bytes as JSON and finds the envelope (spec section 6). The data is not looked into.
 *
 * @throws PayloadError `not_json` or `not_an_envelope`
 */
export function parseEnvelope(rawBody: Uint8Array): UnknownEvent {
  const value = parseJson(rawBody)
  const issues: PayloadIssue[] = []
  if (!isJsonObject(value)) {
    issues.push(mismatch([], 'a JSON object', value))
  } else {
    if (typeof value.type !== 'string' || value.type === '')
      issues.push(mismatch(['type'], 'a non-empty string', value.type))
    if (typeof value.created_at !== 'string')
      issues.push(mismatch(['created_at'], 'a string', value.created_at))
    if (!isJsonObject(value.data)) issues.push(mismatch(['data'], 'an object', value.data))
  }
  if (issues.length > 0) {
    throw new PayloadError(
      'not_an_envelope',
      `The body is JSON, but not an envelope with type, created_at and data: ${describe(issues)}.`,
      { issues },
    )
  }
  return value as UnknownEvent
}

/**
 * Checks the data of an event: by the schema of its kind where there is one, whose output then is the data; else, for
 * `order.created`, by the types of the documented fields (spec section 6). Other data passes as it is.
 *
 * @throws PayloadError `data_mismatch`
 * @throws ConfigurationError when the schema itself threw
 */
export async function checkData(event: UnknownEvent, schemas: SchemaMap): Promise<AnyEvent> {
  const schema = Object.hasOwn(schemas, event.type) ? schemas[event.type] : undefined
  if (schema === undefined) {
    if (event.type === 'order.created') checkOrderCreated(event)
    return event
  }
  let issues: readonly PayloadIssue[] | undefined
  let data: unknown
  try {
    const result = await schema['~standard'].validate(event.data)
    if (result.issues === undefined) data = result.value
    else issues = toPayloadIssues(result.issues, 'data')
  } catch (cause) {
    throw new ConfigurationError(
      `Your schema for ${event.type} threw instead of returning issues: fix it, and the sender's next retry goes through.`,
      { cause },
    )
  }
  if (issues !== undefined) {
    // Only where, not what: the messages of a schema can quote the payload.
    const places = list(issues, ({ path }) => pathText(path))
    throw new PayloadError(
      'data_mismatch',
      `The data of ${event.type} does not fit its schema, at ${places}.`,
      { issues },
    )
  }
  return { ...event, data } as AnyEvent
}

/** @throws TypeError when one of them is no Standard Schema */
export function checkSchemas(schemas: SchemaMap): void {
  if (!isRecord(schemas)) {
    throw new TypeError(`schemas must be a plain object of schemas by kind, not ${describeType(schemas)}.`)
  }
  for (const [kind, schema] of Object.entries(schemas)) {
    if (kind === '' || kind.endsWith('*')) {
      throw new TypeError(
        `schemas["${kind}"] is not a kind: a schema belongs to one kind, and groups have none.`,
      )
    }
    if (!isStandardSchema(schema)) {
      throw new TypeError(
        `schemas["${kind}"] must be a Standard Schema (zod ≥ 3.24, valibot ≥ 1, arktype ≥ 2, or unchecked<T>()), not ${describeType(schema)}.`,
      )
    }
  }
}

function parseJson(rawBody: Uint8Array): unknown {
  let text: string
  try {
    text = utf8.decode(rawBody)
  } catch (cause) {
    throw notJson('it is not valid UTF-8 (is it compressed?)', cause)
  }
  if (text === '') throw notJson('it is empty')
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    throw notJson('it cannot be parsed', cause)
  }
  // Each level takes two brackets, so that most bodies are too short to be too deep.
  if (text.length > 2 * MAX_DEPTH && isDeeperThan(MAX_DEPTH, value)) {
    throw notJson(`it is nested deeper than ${MAX_DEPTH} levels`)
  }
  return value
}

function isDeeperThan(levels: number, value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (levels === 0) return true
  return Object.values(value).some((child) => isDeeperThan(levels - 1, child))
}

/** The documented fields alone (spec section 2.3): what else comes is the service's to add. */
function checkOrderCreated(event: UnknownEvent): void {
  const issues: PayloadIssue[] = []
  const expect = (holds: boolean, path: PropertyKey[], expected: string, value: unknown): void => {
    if (!holds) issues.push(mismatch(['data', ...path], expected, value))
  }
  const { order, tickets } = event.data
  expect(isJsonObject(order), ['order'], 'an object', order)
  if (isJsonObject(order)) {
    expect(typeof order.id === 'string', ['order', 'id'], 'a string', order.id)
    expect(Number.isInteger(order.total_cents), ['order', 'total_cents'], 'an integer', order.total_cents)
    expect(typeof order.buyer_email === 'string', ['order', 'buyer_email'], 'a string', order.buyer_email)
  }
  expect(Array.isArray(tickets), ['tickets'], 'an array', tickets)
  for (const [index, ticket] of Array.isArray(tickets) ? tickets.entries() : []) {
    expect(isJsonObject(ticket), ['tickets', index], 'an object', ticket)
    if (!isJsonObject(ticket)) continue
    expect(typeof ticket.id === 'string', ['tickets', index, 'id'], 'a string', ticket.id)
    expect(typeof ticket.tier === 'string', ['tickets', index, 'tier'], 'a string', ticket.tier)
  }
  if (issues.length > 0) {
    throw new PayloadError(
      'data_mismatch',
      `The data of order.created is not as documented: ${describe(issues)}.`,
      { issues },
    )
  }
}

function mismatch(path: readonly PropertyKey[], expected: string, value: unknown): PayloadIssue {
  const isOtherNumber = expected === 'an integer' && typeof value === 'number'
  return {
    path,
    message: `expected ${expected}, got ${isOtherNumber ? 'another number' : describeType(value)}`,
  }
}

function describe(issues: readonly PayloadIssue[]): string {
  return list(issues, ({ path, message }) => (path.length === 0 ? message : `${pathText(path)}: ${message}`))
}

/** The first few: a body of a megabyte can have a hundred thousand faults. */
function list(issues: readonly PayloadIssue[], text: (issue: PayloadIssue) => string): string {
  const shown = issues.slice(0, MAX_ISSUES_SHOWN).map(text).join('; ')
  return issues.length > MAX_ISSUES_SHOWN ? `${shown}; and ${issues.length - MAX_ISSUES_SHOWN} more` : shown
}

function pathText(path: readonly PropertyKey[]): string {
  return path.map(String).join('.')
}

function notJson(why: string, cause?: unknown): PayloadError {
  return new PayloadError(
    'not_json',
    `The body is authentic, but not JSON: ${why}.`,
    cause === undefined ? {} : { cause },
  )
}
