import { ConfigurationError, PayloadError, type PayloadIssue } from '../errors.js'
import { describeType } from '../lib/describe-type.js'
import { isPlainObject, isRecord } from '../lib/option-names.js'
import type { MaybePromise } from '../lib/promises.js'
import { type AnyEvent, isJsonObject, type UnknownEvent } from './events.js'
import {
  isStandardSchema,
  type SchemaMap,
  type SchemaResult,
  type StandardSchemaV1,
  toPayloadIssues,
} from './schema.js'

/** Deeper than any real payload, and shallow enough for every recursive walk that follows: schemas, clones, JSON.stringify. */
const MAX_DEPTH = 256

const MAX_ISSUES_SHOWN = 5

/** Strict, so that invalid UTF-8 is refused instead of replaced; strips one leading byte order mark. */
const utf8 = new TextDecoder('utf-8', { fatal: true })

/**
 * Parses the bytes as JSON and checks the envelope: `type`, `created_at` and `data`. The data itself is not checked.
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
 * Checks the data of an event: with the schema of its kind if there is one, whose output replaces the data; otherwise, for
 * `order.created`, against the types of the documented fields. Other data passes unchanged.
 *
 * @throws PayloadError `data_mismatch`
 * @throws ConfigurationError when the schema itself threw, or returned neither a value nor issues
 */
export function checkData(event: UnknownEvent, schemas: SchemaMap): MaybePromise<AnyEvent> {
  const schema = Object.hasOwn(schemas, event.type) ? schemas[event.type] : undefined
  if (schema === undefined) {
    if (event.type === 'order.created') checkOrderCreated(event)
    return event
  }
  return checkBySchema(event, schema)
}

async function checkBySchema(event: UnknownEvent, schema: StandardSchemaV1): Promise<AnyEvent> {
  let issues: readonly PayloadIssue[] | undefined
  let data: unknown
  try {
    const result: unknown = await schema['~standard'].validate(event.data)
    if (!isSchemaResult(result)) throw noResult(event.type, result)
    if (result.issues === undefined) data = result.value
    else issues = toPayloadIssues(result.issues, 'data')
  } catch (cause) {
    if (cause instanceof ConfigurationError) throw cause
    throw new ConfigurationError(`Your schema for ${event.type} threw instead of returning issues: fix it.`, {
      cause,
    })
  }
  if (issues !== undefined) {
    // Paths only: a schema's messages can quote the payload.
    const places = list(issues, ({ path }) => pathText(path))
    throw new PayloadError(
      'data_mismatch',
      `The data of ${event.type} does not fit its schema, at ${places}.`,
      { issues },
    )
  }
  return { ...event, data } as AnyEvent
}

/** A function of another validator, such as ajv's, returns true or false: the handler would get `undefined` for its data. */
function isSchemaResult(result: unknown): result is SchemaResult<unknown> {
  return isObject(result) && ('value' in result || (result as { issues?: unknown }).issues !== undefined)
}

function noResult(kind: string, result: unknown): ConfigurationError {
  return new ConfigurationError(
    `The validate function of your schema for ${kind} returned ${describeType(result)}, which is no result of a Standard Schema: it must return { value } or { issues }.`,
  )
}

/** @throws TypeError when one of them is not a Standard Schema */
export function checkSchemas(schemas: SchemaMap): void {
  // Inherited entries would not be read, and their kinds would go unchecked.
  if (!isRecord(schemas) || !isPlainObject(schemas)) {
    throw new TypeError(
      `schemas must be a plain object of schemas by kind, not ${isRecord(schemas) ? 'an instance of a class or an object that inherits' : describeType(schemas)}.`,
    )
  }
  for (const [kind, schema] of Object.entries(schemas)) {
    if (schema === undefined) continue
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
  // Each level takes two brackets, so most bodies are too short to be too deep.
  if (text.length > 2 * MAX_DEPTH && isObject(value) && isDeeperThan(MAX_DEPTH, value)) {
    throw notJson(`it is nested deeper than ${MAX_DEPTH} levels`)
  }
  return value
}

/** Makes no list of an object's values: a body can have thousands of objects, and this must cost little compared with parsing. */
function isDeeperThan(levels: number, value: object): boolean {
  if (levels === 0) return true
  if (Array.isArray(value)) return value.some((child) => isObject(child) && isDeeperThan(levels - 1, child))
  for (const key in value) {
    const child = value[key as keyof typeof value]
    if (isObject(child) && isDeeperThan(levels - 1, child)) return true
  }
  return false
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

const ORDER_FIELDS = { id: 'a string', total_cents: 'an integer', buyer_email: 'a string' }
const TICKET_FIELDS = { id: 'a string', tier: 'a string' }

/** Only the documented fields: the service may add others. */
function checkOrderCreated(event: UnknownEvent): void {
  const issues: PayloadIssue[] = []
  const check = (value: unknown, fields: Readonly<Record<string, string>>, ...path: PropertyKey[]): void => {
    if (!isJsonObject(value)) {
      issues.push(mismatch(['data', ...path], 'an object', value))
      return
    }
    for (const name in fields) {
      const expected = fields[name] as string
      const field = value[name]
      const fits = expected === 'an integer' ? Number.isInteger(field) : typeof field === 'string'
      if (!fits) issues.push(mismatch(['data', ...path, name], expected, field))
    }
  }
  const { order, tickets } = event.data
  check(order, ORDER_FIELDS, 'order')
  if (Array.isArray(tickets)) {
    for (const [index, ticket] of tickets.entries()) check(ticket, TICKET_FIELDS, 'tickets', index)
  } else issues.push(mismatch(['data', 'tickets'], 'an array', tickets))
  if (issues.length > 0) {
    throw new PayloadError(
      'data_mismatch',
      `The data of order.created is not as documented: ${describe(issues)}.`,
      { issues },
    )
  }
}

function mismatch(path: readonly PropertyKey[], expected: string, value: unknown): PayloadIssue {
  return { path, message: `expected ${expected}, got ${typeOfMismatch(expected, value)}` }
}

function typeOfMismatch(expected: string, value: unknown): string {
  if (value === '') return 'an empty string'
  return expected === 'an integer' && typeof value === 'number' ? 'another number' : describeType(value)
}

function describe(issues: readonly PayloadIssue[]): string {
  return list(issues, ({ path, message }) => (path.length === 0 ? message : `${pathText(path)}: ${message}`))
}

/** The first few: a body of a megabyte can have a hundred thousand problems. */
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
