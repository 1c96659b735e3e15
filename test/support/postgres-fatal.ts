/** The message of Postgres to a connection when it shuts down. */
export const FATAL: Buffer = errorResponse({
  S: 'FATAL',
  V: 'FATAL',
  C: '57P01',
  M: 'terminating connection due to administrator command',
})

/** Whether a chunk from the server ends with ReadyForQuery, the end of an answer. */
export function isReady(chunk: Buffer): boolean {
  return chunk.subarray(-6, -1).equals(Buffer.from([0x5a, 0, 0, 0, 5]))
}

/** An error of the server, as it is sent. */
export function errorResponse(fields: Readonly<Record<string, string>>): Buffer {
  const text = Object.entries(fields).map(([name, value]) => `${name}${value}\0`)
  const body = Buffer.from(`${text.join('')}\0`)
  const length = Buffer.alloc(4)
  length.writeInt32BE(body.length + 4)
  return Buffer.concat([Buffer.from('E'), length, body])
}
