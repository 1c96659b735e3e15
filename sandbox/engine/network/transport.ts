import type { OutgoingRequest } from './send.js'

const PIECES = 5

/** Each is an object: a body of 1 MiB byte by byte would take some 200 MB of our own. */
const MOST_PIECES = 10_000

/** How long a slow body pauses between its pieces, in real time. */
export const SLOW_PIECE_MS = 20

/** A body in a few pieces, none of them empty; or in pieces of one byte, unless it is longer than 10,000 bytes. */
export function piecesOf(
  body: Uint8Array,
  transport: OutgoingRequest['transport'] = 'chunked',
): readonly Uint8Array[] {
  const pieces = transport === 'tiny-chunks' ? MOST_PIECES : PIECES
  const size = Math.max(1, Math.ceil(body.length / pieces))
  return Array.from({ length: Math.ceil(body.length / size) }, (_, index) =>
    body.subarray(index * size, (index + 1) * size),
  )
}

/** Whether a body travels in chunks, without a content-length. */
export function isChunked(transport: OutgoingRequest['transport']): boolean {
  return transport === 'chunked' || transport === 'tiny-chunks'
}
