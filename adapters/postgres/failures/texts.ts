import { misread } from '../place.js'

/** How text that may have any character is kept in the columns of a database, so that it comes back as it was. */
export interface Texts {
  write(text: string): string
  read(text: string): string
}

/** NUL and halves of surrogate pairs, which Postgres holds in no encoding, are replaced. */
export const UTF8_TEXTS: Texts = { write: storable, read: (text) => text }

/** For a database in another encoding, which refuses what it has no character for: as in JSON, in ASCII. */
export const ASCII_TEXTS: Texts = {
  write: (text) => asciiJson(storable(text)).slice(1, -1),
  read: (text) => String(JSON.parse(`"${text}"`)),
}

function storable(text: string): string {
  return text.replaceAll('\0', '\uFFFD').replace(/\p{Surrogate}/gu, '\uFFFD')
}

/** JSON that is the same in every encoding of a client. */
export function asciiJson(value: unknown): string {
  return JSON.stringify(value).replace(
    /[^\x20-\x7e]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

/** SQL for bytes as `bytesIn` reads them: clients can be set to change text, its letters, its spaces, its numbers. */
export function hexIn(bytes: string): string {
  return `'x' || encode(${bytes}, 'hex')`
}

/** @throws StoreError when it is not what `hexIn` selects */
export function bytesIn(value: unknown): Uint8Array {
  if (typeof value !== 'string' || value.length % 2 === 0 || !/^x[\da-f]*$/i.test(value)) throw misread()
  const bytes = new Uint8Array((value.length - 1) / 2)
  for (let i = 0; i < bytes.length; i++) {
    bytes[i] = digitAt(value, 2 * i + 1) * 16 + digitAt(value, 2 * i + 2)
  }
  return bytes
}

function digitAt(text: string, position: number): number {
  const code = text.charCodeAt(position)
  // 0 to 9, or a letter in either case.
  return code < 0x40 ? code - 0x30 : (code | 0x20) - 0x57
}

/** Of bytes that may be a million, so not digit by digit. */
export function hexOf(bytes: Uint8Array): string {
  const digits = new Uint8Array(2 * bytes.length)
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i] as number
    digits[2 * i] = DIGITS[byte >> 4] as number
    digits[2 * i + 1] = DIGITS[byte & 15] as number
  }
  return UTF8.decode(digits)
}

const DIGITS = new TextEncoder().encode('0123456789abcdef')
const UTF8 = new TextDecoder()

/** The JSON in a column that `hexIn` selects. */
export function jsonIn(value: unknown): readonly unknown[] {
  return JSON.parse(UTF8.decode(bytesIn(value))) as readonly unknown[]
}
