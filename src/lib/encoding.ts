/** Lower-case hex. */
export function encodeHex(bytes: Uint8Array): string {
  let hex = ''
  for (const byte of bytes) hex += (byte + 0x100).toString(16).slice(1)
  return hex
}

/** Bytes as text for a header. */
export function encode(bytes: Uint8Array, encoding: 'hex' | 'base64'): string {
  return encoding === 'hex' ? encodeHex(bytes) : btoa(String.fromCharCode(...bytes))
}
