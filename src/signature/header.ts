import { WebhookVerificationError } from '../errors.js'
import type { SignatureScheme } from './scheme.js'

/** A header's value as the frameworks give it; several of one name are joined with commas (RFC 9110, section 5.3). */
export type HeaderValue = string | readonly string[] | null | undefined

/** A header that is taken apart, and not yet believed. */
export interface SignatureHeader {
  /** The digits as they were sent: the signature covers them, not the number. */
  readonly t: string
  readonly signatures: readonly string[]
}

export const MAX_HEADER_LENGTH = 4096
/** Enough for any rotation, and few enough to try them all. */
export const MAX_SIGNATURES = 16

/**
 * Takes the header apart, strictly: what is read here decides what is verified.
 *
 * @throws WebhookVerificationError `header_missing` or `header_malformed`
 */
export function parseSignatureHeader(header: HeaderValue, scheme: SignatureScheme): SignatureHeader {
  const value = isStringList(header) ? joined(header) : header
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
  const signatures: string[] = []
  let start = 0
  while (start <= value.length) {
    const comma = value.indexOf(',', start)
    const end = comma === -1 ? value.length : comma
    const item = trimBlanks(value.slice(start, end))
    start = end + 1
    if (item.indexOf('=') < 1) throw malformed(scheme, 'an item of it is not name=value')
    if (item.startsWith('t=')) {
      if (t !== undefined) throw malformed(scheme, 'it has more than one t')
      t = item.slice(2)
      if (!/^[0-9]+$/.test(t)) throw malformed(scheme, 't is not made of decimal digits alone')
    } else if (item.startsWith('v1=')) {
      signatures.push(item.slice(3))
    }
  }
  if (t === undefined) throw malformed(scheme, 'it has no t')
  if (signatures.length === 0) throw malformed(scheme, 'it has no v1')
  if (signatures.length > MAX_SIGNATURES) throw malformed(scheme, `it has more than ${MAX_SIGNATURES} v1`)
  return { t, signatures }
}

/**
 * Not `trim`, which takes more than what a header may have around an item (RFC 9110, section 5.6.3); and not by a pattern,
 * which a long run of blanks within an item makes try each of them as the first of the end.
 */
function trimBlanks(item: string): string {
  let start = 0
  let end = item.length
  while (start < end && isBlank(item[start])) start += 1
  while (end > start && isBlank(item[end - 1])) end -= 1
  return item.slice(start, end)
}

function isBlank(character: string | undefined): boolean {
  return character === ' ' || character === '\t'
}

function isStringList(header: unknown): header is readonly string[] {
  return Array.isArray(header) && header.every((part) => typeof part === 'string')
}

/** Joins no more than decides that it is too long: the whole can be longer than a string may be. */
function joined(parts: readonly string[]): string {
  let value = ''
  for (const [index, part] of parts.entries()) {
    value += index === 0 ? part : `,${part}`
    if (value.length > MAX_HEADER_LENGTH) break
  }
  return value
}

function malformed(scheme: SignatureScheme, why: string): WebhookVerificationError {
  return new WebhookVerificationError(
    'header_malformed',
    `The ${scheme.header} header is not of the form t=<digits>,v1=<signature>: ${why}.`,
  )
}
