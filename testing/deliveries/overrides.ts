import { describeType, describeValue } from '../../src/internal.js'
import { isIsoDate } from './dates.js'

/** Any part of a value, at any depth. An array is given whole, but each of its elements may be given in part. */
export type DeepPartial<T> = T extends readonly (infer Element)[]
  ? readonly DeepPartial<Element>[]
  : T extends object
    ? { readonly [Key in keyof T]?: DeepPartial<T[Key]> | undefined }
    : T

/**
 * The sample with the user's values in place of its own.
 *
 * @param sample the default data; an element of its arrays fills the fields that a given element lacks
 * @param kind for the messages
 * @throws TypeError that names the field, when the sample has no such field or the value is invalid
 */
export function overridden<Data>(sample: Data, overrides: unknown, kind: string): Data {
  return merged(sample, overrides, 'data', kind) as Data
}

function merged(sample: unknown, given: unknown, path: string, kind: string): unknown {
  if (given === undefined) return sample
  if (Array.isArray(sample)) return mergedList(sample, given, path, kind)
  if (typeof sample === 'object' && sample !== null) {
    return mergedFields(sample as Record<string, unknown>, given, path, kind)
  }
  checkValue(sample, given, path)
  return given
}

function mergedList(sample: readonly unknown[], given: unknown, path: string, kind: string): unknown[] {
  if (!Array.isArray(given))
    throw new TypeError(`${path} must be an array, not ${describeType(given)}.${EXACT}`)
  return Array.from(given, (element, index) => merged(sample[index], element, `${path}[${index}]`, kind))
}

function mergedFields(
  sample: Record<string, unknown>,
  given: unknown,
  path: string,
  kind: string,
): Record<string, unknown> {
  checkPlainObject(given, path, path === 'data' ? '' : EXACT)
  for (const name of Object.keys(given)) {
    if (Object.hasOwn(sample, name)) continue
    throw new TypeError(
      `There is no field ${path}.${name} in ${kind}. The fields are ${Object.keys(sample).join(', ')}.${EXACT}`,
    )
  }
  return Object.fromEntries(
    Object.entries(sample).map(([name, value]) => [
      name,
      merged(value, given[name], `${path}.${name}`, kind),
    ]),
  )
}

/**
 * @param name of the field, for the message
 * @param advice the end of the message
 * @throws TypeError for anything but a JSON object: a `Map`, a `Date` or a promise would be written as an empty one
 */
export function checkPlainObject(
  value: unknown,
  name: string,
  advice = '',
): asserts value is Readonly<Record<string, unknown>> {
  const tag = Object.prototype.toString.call(value).slice('[object '.length, -1)
  if (tag === 'Object') return
  const type = describeType(value)
  const what = type === 'an object' ? `one of type ${tag}` : type
  throw new TypeError(`${name} must be a plain object, not ${what}.${advice}`)
}

/** The sample decides the type of a field. By the specification each number is a count or an amount, and each `_at` a date. */
function checkValue(sample: unknown, given: unknown, path: string): void {
  if (typeof given !== typeof sample) {
    throw new TypeError(`${path} must be a ${typeof sample}, not ${describeType(given)}.${EXACT}`)
  }
  if (typeof given === 'number' && !(Number.isSafeInteger(given) && given >= 0)) {
    throw new TypeError(`${path} must be a whole number, 0 or more, not ${given}.${EXACT}`)
  }
  if (typeof given === 'string' && path.endsWith('_at')) checkDate(String(sample), given, path)
}

/** The service writes a date in UTC if the sample has it in UTC; the others are in the time zone of the venue. */
function checkDate(sample: string, given: string, path: string): void {
  const isUtc = sample.endsWith('Z')
  if (isIsoDate(given) && (given.endsWith('Z') || !isUtc)) return
  const form = isUtc
    ? 'in UTC, such as "2026-05-17T14:02:11Z"'
    : 'with its time zone, such as "2026-05-17T19:30:00+02:00"'
  throw new TypeError(
    `${path} is not a date as the service writes it: it must be ISO 8601 ${form}, not ${describeValue(given)}.${EXACT}`,
  )
}

const EXACT = ' With exact: true the data is signed as you pass it, whatever it is.'
