import { describeType, describeValue } from '../../src/lib/describe-type.js'
import { isIsoDate } from './dates.js'

/** Any part of it, at any depth. A list is given whole, and each of its elements in part. */
export type DeepPartial<T> = T extends readonly (infer Element)[]
  ? readonly DeepPartial<Element>[]
  : T extends object
    ? { readonly [Key in keyof T]?: DeepPartial<T[Key]> | undefined }
    : T

/**
 * The sample with what the user gave in place of its own.
 *
 * @param sample the data by default; an element of its lists fills in what is missing in an element that is given
 * @param kind for the messages
 * @throws TypeError that names the field, where the sample has none of that name or it cannot have that value
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
 * @param advice what the message ends in
 * @throws TypeError for what is no object of JSON: a `Map`, a `Date` or a promise would read as an empty one
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

/** What the specification says of a field follows from its sample: each number is a count or an amount, each `_at` a date. */
function checkValue(sample: unknown, given: unknown, path: string): void {
  if (typeof given !== typeof sample) {
    throw new TypeError(`${path} must be a ${typeof sample}, not ${describeType(given)}.${EXACT}`)
  }
  if (typeof given === 'number' && !(Number.isSafeInteger(given) && given >= 0)) {
    throw new TypeError(`${path} must be a whole number, 0 or more, not ${given}.${EXACT}`)
  }
  if (typeof given === 'string' && path.endsWith('_at')) checkDate(String(sample), given, path)
}

/** Where the sample's date is in UTC, the service writes it so; the others are in the time zone of the venue. */
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
