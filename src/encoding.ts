/** Lower-case hex. */
export function encodeHex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}

/** Bytes as a header writes them. */
export function encode(bytes: Uint8Array, encoding: 'hex' | 'base64'): string {
  return encoding === 'hex' ? encodeHex(bytes) : btoa(String.fromCharCode(...bytes))
}

/** The bytes of a text that a stranger sent, or `undefined` where its length or alphabet is wrong. Hex may be of either case. */
export function decode(text: string, encoding: 'hex' | 'base64', length: number): Uint8Array | undefined {
  if (encoding === 'hex') {
    if (text.length !== length * 2 || !/^[0-9a-fA-F]+$/.test(text)) return undefined
    return Uint8Array.from({ length }, (_, i) => Number.parseInt(text.slice(i * 2, i * 2 + 2), 16))
  }
  if (text.length !== Math.ceil(length / 3) * 4 || !/^[A-Za-z0-9+/]+={0,2}$/.test(text)) return undefined
  const bytes = Uint8Array.from(atob(text), (char) => char.charCodeAt(0))
  return bytes.length === length ? bytes : undefined
}
