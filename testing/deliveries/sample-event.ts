import type { Envelope, EventKind, EventOf, JsonValue } from '../../src/index.js'
import {
  checkedClock,
  checkNodeVersion,
  checkOptionNames,
  describeType,
  describeValue,
} from '../../src/internal.js'
import { isoUtc, toEpochMs } from './dates.js'
import { checkPlainObject, type DeepPartial, overridden } from './overrides.js'
import { MAX_SEED, SAMPLES, type SampleDataByKind, sampleTime } from './samples.js'

/** The options of a sample event. */
export interface SampleOptions<Kind extends EventKind = EventKind> {
  /** Your values in place of the sample's, at any depth. An array is given whole, but its elements may be given in part. */
  data?: DeepPartial<SampleDataByKind[Kind]> | undefined
  /** Signs `data` as you give it: nothing is added or checked. Default false. */
  exact?: false | undefined
  /** The time of the event, its `created_at`. Default: the time of `now` if that is given, else a time of the sample's own. */
  at?: Date | string | number | undefined
  /** Makes the sample the same in each run: a whole number from 0 to 4,294,967,295. Default: another sample at each call and in each process. */
  seed?: number | undefined
  /** Milliseconds since the epoch: the `now` of a test clock. */
  now?: (() => number) | undefined
}

/** The options of an event whose data you give whole: of an undocumented kind, or of any kind with `exact: true`. */
export interface ExactOptions<Data extends object> extends Omit<SampleOptions, 'data' | 'exact'> {
  /** The whole data. */
  data: Data
  exact?: boolean | undefined
}

/** The options of any event. */
export type AnyOptions = Omit<ExactOptions<object>, 'data'> & { data?: object }

/** The type of a value after `JSON.stringify` and `JSON.parse`: a `Date` becomes a string. */
export type AsJson<Value> = Value extends JsonValue
  ? Value
  : Value extends { toJSON(): infer Written }
    ? AsJson<Written>
    : Value extends object
      ? { [Key in keyof Value]: AsJson<Value[Key]> }
      : Value

export const SAMPLE_OPTION_NAMES: readonly (keyof SampleOptions)[] = ['data', 'exact', 'at', 'seed', 'now']

/** The prefix of samples without a seed, so that no two processes make the same event: a database may be kept from one run to the next. */
let fresh: { readonly prefix: string; readonly earlierMs: number } | undefined
let calls = 0

/** An event of any kind, with data of your own. */
export function sampleEvent<Kind extends string, Data extends object>(
  kind: Kind,
  options: ExactOptions<Data> & { exact: true },
): Envelope<Kind, AsJson<Data>>
/** An event of any kind, with data of your own. */
export function sampleEvent<Kind extends string, Data extends object>(
  kind: Kind & Undocumented<Kind>,
  options: ExactOptions<Data>,
): Envelope<Kind, AsJson<Data>>
/**
 * A realistic event of a kind, valid by the service's document, for `callHandler` and for bodies of your own. Each call returns a new
 * event, with ids that no other process makes; `seed` makes it the same in each.
 *
 * @param kind a documented kind; or any other, which has no sample and needs `data`
 * @throws TypeError that names the field or the option that is wrong
 * @example
 * ```ts
 * import { sampleEvent } from 'tix-webhooks/testing'
 *
 * const free = sampleEvent('order.created', { data: { order: { total_cents: 0 } } })
 * console.assert(free.data.order.id.startsWith('ord_'))
 * ```
 */
export function sampleEvent<Kind extends EventKind>(kind: Kind, options?: SampleOptions<Kind>): EventOf<Kind>
export function sampleEvent(kind: string, options: AnyOptions = {}): Envelope<string, unknown> {
  options = checkOptionNames(options, SAMPLE_OPTION_NAMES)
  return makeEvent(kind, options)
}

/** Accepts only kinds without a sample, whose data is given whole. */
export type Undocumented<Kind extends string> = Kind extends EventKind ? never : unknown

/** Makes an event from options whose names are already checked. */
export function makeEvent(kind: string, options: AnyOptions): Envelope<string, unknown> {
  if (typeof kind !== 'string' || kind === '') {
    throw new TypeError(`kind must be a kind of event, such as "order.created", not ${describeValue(kind)}.`)
  }
  const { exact = false, data: given } = options
  if (typeof exact !== 'boolean')
    throw new TypeError(`exact must be true or false, not ${describeType(exact)}.`)
  const sample = sampleOf(options)
  const atMs = happenedAt(options, sample)
  const isSampled = Object.hasOwn(SAMPLES, kind) && !exact
  if (!isSampled && given === undefined) throw noSample(kind)
  const data = isSampled ? sampleData(kind as EventKind, given, { ...sample, atMs }) : given
  return { type: kind, created_at: isoUtc(atMs), data: asRead(data) }
}

/** Lists the kinds, because a misspelt one has no sample either. */
function noSample(kind: string): TypeError {
  return new TypeError(
    `data is missing: there are samples of ${Object.keys(SAMPLES).join(', ')}; an event of the kind ${JSON.stringify(kind)}, and an exact one, has only the data that you pass.`,
  )
}

interface Sample {
  readonly seed: number
  readonly prefix: string
  /** How much earlier it happened than the sample of this seed. */
  readonly earlierMs: number
}

function sampleOf({ seed }: AnyOptions): Sample {
  if (seed === undefined) {
    calls += 1
    // Node 18 has no global crypto.
    checkNodeVersion()
    fresh ??= startFresh()
    return { seed: calls, ...fresh }
  }
  if (Number.isInteger(seed) && seed >= 0 && seed <= MAX_SEED) return { seed, prefix: '', earlierMs: 0 }
  throw new TypeError(`seed must be a whole number from 0 to ${MAX_SEED}, not ${describeValue(seed)}.`)
}

const YEAR_SECONDS = 365 * 24 * 3600

/** Not at import, where Workers have no random numbers. A test may have replaced the UUID by any text. */
function startFresh(): NonNullable<typeof fresh> {
  const prefix = crypto.randomUUID().slice(0, 8)
  return { prefix, earlierMs: ((Number.parseInt(prefix, 16) || 0) % YEAR_SECONDS) * 1000 }
}

function happenedAt({ at, now }: AnyOptions, { seed, earlierMs }: Sample): number {
  const clock = checkedClock(now, () => sampleTime(seed) - earlierMs)
  return at === undefined ? toEpochMs('the value that now returned', clock()) : toEpochMs('at', at)
}

function sampleData(kind: EventKind, given: unknown, request: Sample & { atMs: number }): unknown {
  const tickets = (given as DeepPartial<SampleDataByKind['order.created']> | null | undefined)?.tickets
  const sample = SAMPLES[kind]({ ...request, tickets: Array.isArray(tickets) ? tickets.length : undefined })
  return overridden(sample, given, kind)
}

/** The data as the receiver will read it: values that JSON lacks are refused, or changed as JSON changes them. */
function asRead(data: unknown): unknown {
  checkPlainObject(data, 'data')
  const read = throughJson(data)
  checkPlainObject(read, 'The result of toJSON of data')
  return read
}

function throughJson(value: unknown): unknown {
  try {
    const text: string | undefined = JSON.stringify(value)
    return text === undefined ? undefined : JSON.parse(text)
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause)
    throw new TypeError(`data cannot be serialised as JSON: ${why}`, { cause })
  }
}
