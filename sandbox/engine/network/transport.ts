const PIECES = 5

/** How long a slow body pauses between its pieces, in real time. */
export const SLOW_PIECE_MS = 20

/** A body in a few pieces, none of them empty. */
export function piecesOf(body: Uint8Array): readonly Uint8Array[] {
  const size = Math.max(1, Math.ceil(body.length / PIECES))
  return Array.from({ length: Math.ceil(body.length / size) }, (_, index) =>
    body.subarray(index * size, (index + 1) * size),
  )
}
