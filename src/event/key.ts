import { ConfigurationError } from '../errors.js'
import { MAX_KEY_LENGTH } from '../lib/check-key.js'
import { describeType } from '../lib/describe-type.js'
import { ignoreRejection, type MaybePromise, whenSettled } from '../lib/promises.js'
import { MAX_NAME_LENGTH } from '../signature/account.js'
import { hmacEngine } from '../signature/hmac.js'
import { isJsonObject, type UnknownEvent } from './events.js'

/**
 * Returns the key that an event is deduplicated by, in place of the default. It sees the event before its data is checked.
 *
 * @returns a non-empty string, the same for all deliveries of one event and of no other; or `null` to run without
 * deduplication. Not `String()` of a field that may be missing: `undefined` is refused, `'undefined'` would be the key of many events
 */
export type KeyFunction<Request = unknown, Found = unknown> = (
  event: UnknownEvent,
  ctx: KeyContext<Request, Found>,
) => string | null

/** The context of a key function: the delivery of the event. */
export interface KeyContext<Request = unknown, Found = unknown> {
  readonly rawBody: Uint8Array
  readonly request: Request
  /** The result of the option `account`; `undefined` without one. Its id is part of every key already. */
  readonly account: Found
  /** The index of the secret that matched: if live and test secrets share a route, the ids of their events may be equal. */
  readonly secretIndex: number
}

/** Of a namespace and an account, each of which may be as long as a name, with their slashes. */
const MAX_PREFIX_LENGTH = 2 * (MAX_NAME_LENGTH + 1)
/** The texts of missing values, or of values that are not text. */
const MISSING = new Set(['undefined', 'null', 'NaN', '[object Object]', '[object Promise]'])
const PRINTABLE_ASCII = /^[ -~]+$/
/** The same without a slash. */
const PLAIN = /^[ -.0-~]+$/

/**
 * The key of an event in a namespace, and of an account if there are several.
 *
 * @param account the id of the account; `null` for a receiver without accounts
 */
export type EventKey = (namespace: string, account: string | null) => string

/**
 * The key of an event, by the user's function or the default rule; `null` if it is to run without deduplication.
 *
 * @throws ConfigurationError when the user's function throws, or returns no key
 */
export function keyOf<Request>(
  key: KeyFunction<Request> | undefined,
  event: UnknownEvent,
  delivery: KeyContext<Request>,
): MaybePromise<EventKey | null> {
  const part = key === undefined ? defaultKeyPart(event, delivery.rawBody) : keyPartOf(key, event, delivery)
  if (part === null) return null
  return whenSettled(part, (known) => eventKey(event.type, known))
}

/**
 * The default rule, for a service that gives its deliveries no id. An order is created once, so its id is the key. Any other event is
 * identified by a digest of its content; `created_at` is included on purpose: moving from A to B, back to A and to B again makes
 * three events, not two.
 * An envelope `id` is included too, if present: it can separate deliveries, but never merge them. `t` and the signature are never part of
 * the key, because a retry renews them.
 *
 * If it contains a number too large for `JSON.parse`, which rounds it, two events that differ only there would have the same digest: then
 * the digest is of the bytes as they were sent.
 */
export function defaultKeyPart(event: UnknownEvent, rawBody: Uint8Array): MaybePromise<string> {
  if (event.type === 'order.created') {
    const { order } = event.data
    if (isJsonObject(order) && typeof order.id === 'string' && order.id !== '') return order.id
  }
  const { id, type, created_at, data } = event
  const text = canonicalJson({ ...(id === undefined ? {} : { id }), type, created_at, data })
  return hmacEngine().sha256Hex(text ?? rawBody)
}

/** @throws ConfigurationError when the user's function throws, or returns an invalid key */
export function keyPartOf<Request>(
  keyFunction: KeyFunction<Request>,
  event: UnknownEvent,
  delivery: KeyContext<Request>,
): string | null {
  let part: unknown
  try {
    part = keyFunction(event, delivery)
  } catch (cause) {
    throw new ConfigurationError(
      `Your key function threw for ${event.type}: return a string for every event, or null.`,
      { cause },
    )
  }
  if (part === null) return null
  if (typeof part === 'string' && MISSING.has(part)) {
    throw new ConfigurationError(
      `Your key function returned the text "${part}" for ${event.type}, which is what String() makes of a missing value. All such events would share one key, and only the first would run. Return null for a kind that has no such value.`,
    )
  }
  if (typeof part === 'string' && part !== '') return part
  ignoreRejection(part)
  throw new ConfigurationError(
    `Your key function returned ${part === '' ? 'an empty string' : describeType(part)} for ${event.type}: it must return a non-empty string, or null to run without deduplication.`,
  )
}

/**
 * The keys of an event in the store: `<namespace>/<type>/<part>`, or `<namespace>/<account>/<type>/<part>`. Instead of type and part there
 * is the SHA-256 of the two if the key would be too long, not printable, or ambiguous because of a slash in the type.
 */
export function eventKey(type: string, part: string): MaybePromise<EventKey> {
  const name = `${type}/${part}`
  const isPlain = PLAIN.test(type) && PRINTABLE_ASCII.test(part)
  if (isPlain && name.length <= MAX_KEY_LENGTH - MAX_PREFIX_LENGTH) {
    return (namespace, account) => prefixOf(namespace, account) + name
  }
  // At once, because it is a promise with Web Crypto. JSON, because it escapes lone surrogates: two different strings must not become the
  // same bytes.
  return whenSettled(
    hmacEngine().sha256Hex(JSON.stringify([type, part])),
    (digest) => (namespace, account) => {
      const prefix = prefixOf(namespace, account)
      return prefix + (isPlain && prefix.length + name.length <= MAX_KEY_LENGTH ? name : digest)
    },
  )
}

const BYTES = 'sha256:'

/**
 * The key of a failure whose event has none: of its bytes. It is no key of an event, which has a slash after the prefix, or only digits of
 * a digest.
 */
export async function keyOfBytes(rawBody: Uint8Array, namespace: string, account?: string): Promise<string> {
  return `${prefixOf(namespace, account ?? null)}${BYTES}${await hmacEngine().sha256Hex(rawBody)}`
}

/**
 * The part of a stored key behind namespace and account, as a key for `keyIn`.
 *
 * @returns `undefined` for a key of bytes: the event may have one by now
 */
export function storedKey(key: string, namespace: string, account?: string): EventKey | undefined {
  const rest = key.slice(prefixOf(namespace, account ?? null).length)
  if (rest.startsWith(BYTES)) return undefined
  return (otherNamespace, otherAccount) => prefixOf(otherNamespace, otherAccount) + rest
}

function prefixOf(namespace: string, account: string | null): string {
  return account === null ? `${namespace}/` : `${namespace}/${account}/`
}

/**
 * JSON with sorted keys and no spaces, so that equal values have equal texts (after RFC 8785).
 *
 * @returns `undefined` if it contains a number that may not be the one sent: an integer beyond 2^53 - 1, or infinity
 */
export function canonicalJson(value: unknown): string | undefined {
  let isExact = true

  function write(value: unknown): string {
    if (typeof value === 'number') {
      // Every number beyond it is an integer: a fraction that large is rounded to one too.
      if (Math.abs(value) > Number.MAX_SAFE_INTEGER) isExact = false
      return String(value)
    }
    if (typeof value !== 'object' || value === null) return JSON.stringify(value)
    if (Array.isArray(value)) return `[${value.map(write).join(',')}]`
    const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
    return `{${members.map(([key, member]) => `${JSON.stringify(key)}:${write(member)}`).join(',')}}`
  }

  const text = write(value)
  return isExact ? text : undefined
}
