/**
 * Text with anything but these characters goes in hexadecimal digits: they mean the same in every encoding and with every setting of the
 * server, so that no text of a sender can end the literal. Most keys have nothing else, and can be read in the logs of the server.
 */
export function literal(value: unknown): string {
  if (typeof value === 'number' && Number.isFinite(value)) return `${value}`
  if (typeof value !== 'string') throw new TypeError('A parameter must be text or a finite number.')
  if (/^[A-Za-z0-9_./: -]*$/.test(value)) return `'${value}'`
  return `pg_catalog.convert_from(pg_catalog.decode('${hexOf(value)}', 'hex'), 'UTF8')`
}

function hexOf(text: string): string {
  let digits = ''
  for (const byte of UTF8.encode(text)) digits += HEX[byte]
  return digits
}

const UTF8 = new TextEncoder()
const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'))
