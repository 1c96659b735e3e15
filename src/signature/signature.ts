import { DEFAULT_TOLERANCE_SECONDS } from '../durations.js'
import { describeType, describeValue } from '../lib/describe-type.js'
import { checkOptionNames } from '../lib/option-names.js'
import type { MaybePromise } from '../lib/promises.js'
import { checkedClock, systemClock } from '../lib/time/clock.js'
import { type HeaderValue, MAX_SIGNATURES, parseSignatureHeader } from './header.js'
import { digest, verified } from './match.js'
import { checkTolerance, type SignatureOptions, signatureScheme, toUnit } from './scheme.js'
import { type Secrets, secretKeys } from './secrets.js'

/** The facts that a valid signature proves. */
export interface VerifiedSignature {
  /** When the service signed, from `t`. */
  readonly signedAt: Date
  /** The index of the secret that matched: once it is always the new one, remove the old one. */
  readonly secretIndex: number
}

export interface VerifyOptions {
  /** The endpoint's secret, or several during a rotation. */
  secret: Secrets
  /** How far `t` may be from now, in seconds, in both directions. Default 300; above 0. */
  toleranceSeconds?: number | undefined
  /** How the service signs. The defaults are the usual ones. */
  signature?: SignatureOptions | undefined
  /** Milliseconds since the epoch. Default `Date.now`. */
  now?: (() => number) | undefined
}

export interface SignOptions {
  /** The endpoint's secret. A list gives one `v1` for each, as a service does during a rotation. */
  secret: Secrets
  /** The value of `t`, in the unit of `signature.timestampUnit`. Default: now. */
  timestamp?: number | undefined
  /** How the service signs. The defaults are the usual ones. */
  signature?: SignatureOptions | undefined
}

export const VERIFY_OPTION_NAMES: readonly (keyof VerifyOptions)[] = [
  'secret',
  'toleranceSeconds',
  'signature',
  'now',
]
const SIGN_OPTION_NAMES: readonly (keyof SignOptions)[] = ['secret', 'timestamp', 'signature']

/**
 * Verifies the signature and the timestamp of a delivery over its exact bytes, and parses nothing.
 *
 * @param rawBody the bytes as they were sent; a string is taken as its UTF-8 bytes
 * @param header the value of the signature header
 * @returns the time of the signature, and the index of the secret that matched
 * @throws WebhookVerificationError when the delivery is not authentic, or not fresh: see its `code`
 * @throws TypeError when an option is invalid
 * @example
 * ```ts
 * const { signedAt } = await verifySignature(rawBody, request.headers.get('x-service-signature'), { secret })
 * ```
 */
export async function verifySignature(
  rawBody: Uint8Array | string,
  header: HeaderValue,
  options: VerifyOptions,
): Promise<VerifiedSignature> {
  const given = checkOptionNames(options, VERIFY_OPTION_NAMES)
  return verifyBytes(bytesOf(rawBody), header, given)
}

/** The same for bytes, with options whose names are checked. */
export function verifyBytes(
  rawBody: Uint8Array,
  header: HeaderValue,
  { secret, toleranceSeconds = DEFAULT_TOLERANCE_SECONDS, signature, now }: VerifyOptions,
): MaybePromise<VerifiedSignature> {
  const scheme = signatureScheme(signature)
  const keys = secretKeys(secret, 'secret')
  checkTolerance(toleranceSeconds)
  const terms = { scheme, toleranceSeconds, now: checkedClock(now, systemClock) }
  return verified(parseSignatureHeader(header, scheme), rawBody, keys, terms)
}

/**
 * Signs a payload as the service does: the value of `x-service-signature`.
 *
 * @param rawBody the bytes to sign; a string is taken as its UTF-8 bytes
 * @returns the value of the signature header, `t=…,v1=…`
 * @throws TypeError when a secret, the timestamp or an option is invalid
 * @example
 * ```ts
 * const header = await signPayload(JSON.stringify(event), { secret: 'whsec_test' })
 * ```
 */
export async function signPayload(rawBody: Uint8Array | string, options: SignOptions): Promise<string> {
  const headers = await signedHeaders(rawBody, options)
  const { signature } = checkOptionNames(options, SIGN_OPTION_NAMES)
  return headers[signatureScheme(signature).header] as string
}

/**
 * The headers of a signed request, by their names in lower case.
 *
 * @throws TypeError when a secret, the timestamp or an option is invalid
 */
export async function signedHeaders(
  rawBody: Uint8Array | string,
  options: SignOptions,
): Promise<Readonly<Record<string, string>>> {
  const { signature, secret, ...given } = checkOptionNames(options, SIGN_OPTION_NAMES)
  const scheme = signatureScheme(signature)
  const keys = secretKeys(secret, 'secret')
  if (keys.length > MAX_SIGNATURES) {
    throw new TypeError(`secret: a header holds at most ${MAX_SIGNATURES} signatures, not ${keys.length}.`)
  }
  const timestamp = given.timestamp ?? toUnit(systemClock(), scheme)
  if (!Number.isSafeInteger(timestamp) || timestamp < 0) {
    throw new TypeError(
      `timestamp must be a whole number of ${scheme.timestampUnit === 's' ? 'seconds' : 'milliseconds'} since the epoch, not ${describeValue(timestamp)}.`,
    )
  }
  const t = String(timestamp)
  const body = bytesOf(rawBody)
  const signatures = await Promise.all(keys.map(async (key) => digest(t, body, key, scheme)))
  return { [scheme.header]: [`t=${t}`, ...signatures.map((signature) => `v1=${signature}`)].join() }
}

/** @throws TypeError when it is neither a string nor bytes */
export function bytesOf(rawBody: Uint8Array | string): Uint8Array {
  if (typeof rawBody === 'string') return new TextEncoder().encode(rawBody)
  if (rawBody instanceof Uint8Array) return rawBody
  throw new TypeError(
    `rawBody must be the bytes as they were sent, or their string, not ${describeType(rawBody)}: a parsed body cannot be verified.`,
  )
}
