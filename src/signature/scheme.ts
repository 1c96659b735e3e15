import { RETRY_WINDOW_SECONDS } from '../durations.js'
import { defined } from '../lib/defined.js'
import { describeValue } from '../lib/describe-type.js'
import { checkOptionNames } from '../lib/option-names.js'
import type { HmacAlgorithm } from './hmac.js'

/**
 * How the service signs. Its document leaves the algorithm and the signed string open; the defaults are the usual ones for this form of
 * header.
 */
export interface SignatureOptions {
  /** The header's name. Default `x-service-signature`. */
  header?: string | undefined
  /** The hash under the HMAC, `SHA-256` or `SHA-512`. Default `SHA-256`. */
  algorithm?: HmacAlgorithm | undefined
  /** How the signature in `v1` is encoded, `hex` (in any case) or `base64`. Default `hex`. */
  encoding?: 'hex' | 'base64' | undefined
  /** The signed bytes: `dot` is `t + "." + body`, `concat` is `t + body`, and a function `(t, body)` returns the bytes. Default `dot`. */
  signedContent?: 'dot' | 'concat' | ((t: string, body: Uint8Array) => Uint8Array) | undefined
  /** The unit of `t`, since the epoch: `s` or `ms`. Default `s`. */
  timestampUnit?: 's' | 'ms' | undefined
}

/** The options with their defaults filled in. */
export type SignatureScheme = {
  readonly [Name in keyof SignatureOptions]-?: NonNullable<SignatureOptions[Name]>
}

const DEFAULT_SCHEME: SignatureScheme = {
  header: 'x-service-signature',
  algorithm: 'SHA-256',
  encoding: 'hex',
  signedContent: 'dot',
  timestampUnit: 's',
}

/** The options that are one of a few words; `signedContent` may be a function instead. */
const WORDS = {
  algorithm: ['SHA-256', 'SHA-512'],
  encoding: ['hex', 'base64'],
  timestampUnit: ['s', 'ms'],
  signedContent: ['dot', 'concat'],
} as const

/**
 * Fills in the defaults.
 *
 * @throws TypeError when an option is invalid
 */
export function signatureScheme(signature?: SignatureOptions): SignatureScheme {
  if (signature === undefined) return DEFAULT_SCHEME
  const options = checkOptionNames(signature, Object.keys(DEFAULT_SCHEME), 'signature.')
  const scheme: SignatureScheme = { ...DEFAULT_SCHEME, ...defined(options) }
  // The token characters of RFC 9110, section 5.6.2: a header cannot have any other name.
  if (typeof scheme.header !== 'string' || !/^[\w!#$%&'*+.^`|~-]+$/.test(scheme.header)) {
    throw new TypeError('signature.header must be the name of a header, such as "x-service-signature".')
  }
  for (const option of ['algorithm', 'encoding', 'timestampUnit', 'signedContent'] as const) {
    const allowed: readonly unknown[] = WORDS[option]
    const given = scheme[option]
    if (allowed.includes(given) || (option === 'signedContent' && typeof given === 'function')) continue
    throw new TypeError(`signature.${option} must be ${allowed.map((name) => `"${name}"`).join(' or ')}.`)
  }
  return { ...scheme, header: scheme.header.toLowerCase() }
}

/**
 * @throws TypeError unless it is a finite number above 0
 */
export function checkTolerance(toleranceSeconds: number): number {
  if (!Number.isFinite(toleranceSeconds) || toleranceSeconds <= 0) {
    throw new TypeError(
      `toleranceSeconds must be a finite number above 0, not ${describeValue(toleranceSeconds)}: the timestamp is always checked. Pass ${RETRY_WINDOW_SECONDS} (72 h) if the sender does not re-sign its retries.`,
    )
  }
  return toleranceSeconds
}

/** Milliseconds in whole units of `t`. */
export function toUnit(ms: number, scheme: SignatureScheme): number {
  return Math.floor(scheme.timestampUnit === 's' ? ms / 1000 : ms)
}

/** A value of `t` in milliseconds. */
export function toMs(timestamp: number, scheme: SignatureScheme): number {
  return scheme.timestampUnit === 's' ? timestamp * 1000 : timestamp
}
