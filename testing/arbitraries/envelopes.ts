import * as fc from 'fast-check'
import type { JsonObject, JsonValue, UnknownEvent } from '../../src/index.js'
import { isoUtc } from '../deliveries/dates.js'
import { moments } from './event-data.js'
import { knownEvents, unknownKinds } from './events.js'
import { jsonObjects, jsonTexts, jsonValues } from './json.js'

const REQUIRED = ['type', 'created_at', 'data'] as const
type RequiredField = (typeof REQUIRED)[number]

/**
 * Envelopes of any kind, documented or not, with any JSON object as their data and any further fields, an `id` included. The data
 * does not suit the kind, even a documented one: use `knownEvents()` for that.
 *
 * @example
 * ```ts
 * import * as fc from 'fast-check'
 * import { envelopes } from 'tix-webhooks/testing/fast-check'
 *
 * fc.assert(fc.property(envelopes(), ({ type, data }) => type !== '' && typeof data === 'object'))
 * ```
 */
export function envelopes(): fc.Arbitrary<UnknownEvent> {
  const type = fc.oneof(
    unknownKinds(),
    knownEvents().map((event): string => event.type),
  )
  return fc
    .tuple(
      fc.oneof({ withCrossShrink: true }, fc.constant({}), jsonObjects()),
      type,
      moments(),
      jsonObjects(),
    )
    .map(([others, kind, ms, data]) => ({ ...others, type: kind, created_at: isoUtc(ms), data }))
}

/**
 * JSON values that are not envelopes: anything but an object, and objects whose `type`, `created_at` or `data` is missing or
 * invalid.
 *
 * @example
 * ```ts
 * import * as fc from 'fast-check'
 * import { tixWebhooks } from 'tix-webhooks/fetch'
 * import { signedBody } from 'tix-webhooks/testing'
 * import { notEnvelopes } from 'tix-webhooks/testing/fast-check'
 *
 * const secret = 'whsec_test'
 * const POST = tixWebhooks({ secret, on: { 'order.created': () => {} }, onError: () => {} })
 *
 * await fc.assert(
 *   fc.asyncProperty(notEnvelopes(), async (value) => {
 *     const delivery = await signedBody(JSON.stringify(value), { secret })
 *     return (await POST(delivery.toRequest('/hooks'))).status === 500 // the sender keeps it
 *   }),
 * )
 * ```
 */
export function notEnvelopes(): fc.Arbitrary<JsonValue> {
  const whole = envelopes().map((envelope) => envelope as JsonObject)
  return fc.oneof(
    jsonValues().filter((value) => !isEnvelope(value)),
    // Wrapped in something else.
    whole.map((envelope) => [envelope]),
    whole.map((envelope) => JSON.stringify(envelope)),
    fc.tuple(fc.constantFrom('event', 'payload', 'data'), whole).map(([name, event]) => ({ [name]: event })),
    // The fields under __proto__, for a program that does not check own properties.
    whole.map((envelope) => Object.fromEntries([['__proto__', envelope]])),
    fc.tuple(whole, someRequired()).map(([envelope, names]) => without(envelope, names)),
    fc.tuple(whole, someRequired()).map(([envelope, names]) => ({
      ...without(envelope, names),
      ...Object.fromEntries(names.map((name) => [name.toUpperCase(), envelope[name] as JsonValue])),
    })),
    fc.tuple(whole, someRequired(), wrongFields()).map(([envelope, names, wrong]) => ({
      ...envelope,
      ...Object.fromEntries(names.map((name) => [name, wrong[name]])),
    })),
  )
}

function someRequired(): fc.Arbitrary<RequiredField[]> {
  return fc.subarray([...REQUIRED], { minLength: 1 })
}

function without(envelope: JsonObject, names: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(envelope).filter(([name]) => !names.includes(name)))
}

function wrongFields(): fc.Arbitrary<{ [Name in RequiredField]: JsonValue }> {
  const noText = jsonValues().filter((value) => typeof value !== 'string')
  return fc.record({
    type: fc.oneof(fc.constant(''), noText),
    created_at: noText,
    data: fc.oneof(
      jsonTexts(),
      jsonObjects().map((data) => JSON.stringify(data)),
      fc.array(jsonObjects()),
      jsonValues().filter((value) => !isObject(value)),
    ),
  })
}

function isEnvelope(value: JsonValue): boolean {
  return (
    isObject(value) &&
    typeof value.type === 'string' &&
    value.type !== '' &&
    typeof value.created_at === 'string' &&
    isObject(value.data)
  )
}

function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
