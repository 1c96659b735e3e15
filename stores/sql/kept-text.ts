import { unexpectedRows } from './unexpected-rows.js'

/** @throws StoreError when it is not an x and hexadecimal digits, which no setting of a client changes */
export function bytesIn(value: unknown): Uint8Array {
  if (typeof value !== 'string' || value.length % 2 === 0 || !/^x[\da-f]*$/i.test(value))
    throw unexpectedRows()
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

/** From a table, not digit by digit: there may be a million bytes. */
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
