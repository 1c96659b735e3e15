import { WebhookVerificationError } from '../errors.js'
import type { SignatureScheme } from './scheme.js'

/** A header's value as the frameworks give it; several with the same name are joined with commas (RFC 9110, section 5.3). */
export type HeaderValue = string | readonly string[] | null | undefined

/** A parsed header, not verified yet. */
export interface SignatureHeader {
  /** The digits as they were sent: the signature covers them, not the number. */
  readonly t: string
  readonly signatures: readonly string[]
}

const MAX_HEADER_LENGTH = 4096
/** Enough for any rotation, and few enough to try all of them. */
export const MAX_SIGNATURES = 16

/**
 * Parses the header, strictly: the result decides what is verified.
 *
 * @throws WebhookVerificationError `header_missing` or `header_malformed`
 */
export function parseSignatureHeader(header: HeaderValue, scheme: SignatureScheme): SignatureHeader {
  // Cut, because the whole could exceed the maximum length of a string.
  const value: unknown = isStringList(header)
    ? header
        .slice(0, MAX_HEADER_LENGTH)
        .map((part) => part.slice(0, MAX_HEADER_LENGTH + 1))
        .join()
    : header
  if (value === undefined || value === null || value === '') {
    throw new WebhookVerificationError(
      'header_missing',
      `The request has no ${scheme.header} header: it does not come from the service, or a proxy in between removes the header.`,
    )
  }
  if (typeof value !== 'string') throw malformed(scheme, 'it is not a string')
  if (value.length > MAX_HEADER_LENGTH)
    throw malformed(scheme, `it is longer than ${MAX_HEADER_LENGTH} characters`)

  let t: string | undefined
  let signatures: string[] | undefined
  let start = 0
  while (start <= value.length) {
    const comma = value.indexOf(',', start)
    let end = comma === -1 ? value.length : comma
    const next = end + 1
    // Not `trim`, which removes more than a header allows around an item (RFC 9110, section 5.6.3); and not a regex, which backtracks
    // quadratically over a long run of blanks within an item.
    while (start < end && isBlank(value[start])) start += 1
    while (end > start && isBlank(value[end - 1])) end -= 1
    const equals = value.indexOf('=', start)
    if (equals <= start || equals >= end) throw malformed(scheme, 'an item of it is not name=value')
    if (value.startsWith('t=', start)) {
      if (t !== undefined) throw malformed(scheme, 'it has more than one t')
      t = value.slice(start + 2, end)
      if (!/^[0-9]+$/.test(t)) throw malformed(scheme, 't is not made of decimal digits alone')
    } else if (value.startsWith('v1=', start)) {
      const signature = value.slice(start + 3, end)
      if (signatures === undefined) signatures = [signature]
      else signatures.push(signature)
    }
    start = next
  }
  if (t === undefined) throw malformed(scheme, 'it has no t')
  if (signatures === undefined) throw malformed(scheme, 'it has no v1')
  if (signatures.length > MAX_SIGNATURES) throw malformed(scheme, `it has more than ${MAX_SIGNATURES} v1`)
  return { t, signatures }
}

function isBlank(character: string | undefined): boolean {
  return character === ' ' || character === '\t'
}

function isStringList(header: unknown): header is readonly string[] {
  return Array.isArray(header) && header.every((part) => typeof part === 'string')
}

function malformed(scheme: SignatureScheme, why: string): WebhookVerificationError {
  return new WebhookVerificationError(
    'header_malformed',
    `The ${scheme.header} header is not of the form t=<digits>,v1=<signature>: ${why}.`,
  )
}
