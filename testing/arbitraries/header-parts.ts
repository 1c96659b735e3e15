import * as fc from 'fast-check'
import {
  checkOptionNames,
  describeValue,
  MAX_SIGNATURES,
  signatureScheme,
  writeSignature,
} from '../../src/internal.js'
import { joined, jsonCharacters } from './json.js'

/** The options of arbitrary headers. */
export interface HeaderOptions {
  /** A header with a valid signature, such as `delivery.header`. Default: random signatures, which match nothing. */
  of?: string
  /** Only strings of ASCII, which every HTTP client can send. Default false. */
  sendable?: boolean
}

/** The content of a header. */
export interface HeaderParts {
  /** Digits. */
  readonly t: string
  /** At least one. */
  readonly signatures: readonly string[]
}

const PRINTABLE = Array.from({ length: 0x7f - 0x21 }, (_, index) => String.fromCharCode(0x21 + index))
/** Without the comma, which ends an item. */
const CONTENT = PRINTABLE.filter((character) => character !== ',')

/**
 * The parts of the given header, or random ones.
 *
 * @param most the most signatures of a random header
 * @throws TypeError when an option is invalid
 */
export function headerParts(
  { of, sendable }: HeaderOptions,
  most: number = MAX_SIGNATURES,
): fc.Arbitrary<HeaderParts> {
  if (of !== undefined) return fc.constant(partsOf(of))
  return fc.record({
    t: fc.oneof({ withCrossShrink: true }, fc.nat(4_000_000_000).map(String), digits(14)),
    signatures: fc.oneof(
      { withCrossShrink: true },
      { weight: 3, arbitrary: fc.array(signatures(sendable), { minLength: 1, maxLength: 3 }) },
      {
        weight: 1,
        arbitrary: fc.array(signatures(sendable), { minLength: 1, maxLength: most, size: 'max' }),
      },
    ),
  })
}

/** @throws TypeError when an option is invalid */
export function checkHeaderOptions(options: HeaderOptions): void {
  checkOptionNames(options, ['of', 'sendable'])
  if (options.of !== undefined) partsOf(options.of)
}

function partsOf(header: string): HeaderParts {
  const [first, ...others] = typeof header === 'string' ? header.split(',') : []
  const t = /^t=([0-9]+)$/.exec(first ?? '')?.[1]
  const signatures = others.map((item) => /^v1=(.+)$/.exec(item)?.[1])
  if (t !== undefined && signatures.length > 0 && signatures.every((signature) => signature !== undefined)) {
    return { t, signatures }
  }
  throw new TypeError(
    `of must be a header as signPayload returns it, t=…,v1=…, not ${describeValue(header)}.`,
  )
}

/** Contents of a `v1`: the bytes of either hash in upper or lower hex or in base64, and other texts. */
export function signatures(sendable?: boolean): fc.Arbitrary<string> {
  const bytes = fc.oneof(
    fc.uint8Array({ minLength: 32, maxLength: 32 }),
    fc.uint8Array({ minLength: 64, maxLength: 64 }),
  )
  const hex = bytes.map((all) => Array.from(all, (byte) => byte.toString(16).padStart(2, '0')).join(''))
  return fc.oneof(
    { withCrossShrink: true },
    joined(fc.constantFrom(...'0123456789abcdef'), { minLength: 1, maxLength: 8 }),
    hex,
    hex.map((text) => text.toUpperCase()),
    bytes.map((all) => btoa(String.fromCharCode(...all))),
    contents(sendable),
  )
}

/** Contents of an item after its equals sign: also none, spaces and equals signs; and any text unless it must be sendable. */
export function contents(sendable = false): fc.Arbitrary<string> {
  const ascii = joined(fc.constantFrom(...CONTENT, ' '), { maxLength: 40 })
  if (sendable) return ascii
  const any = jsonCharacters().map((character) => character.replace(',', ';'))
  return fc.oneof({ withCrossShrink: true }, ascii, joined(any, { maxLength: 10 }))
}

export function digits(maxLength: number): fc.Arbitrary<string> {
  return joined(fc.constantFrom(...'0123456789'), { minLength: 1, maxLength })
}

/** The header in its usual form. */
export function written({ t, signatures: all }: HeaderParts): string {
  const scheme = signatureScheme()
  return writeSignature({ t }, all, scheme)[scheme.header] as string
}
