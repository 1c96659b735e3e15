import type { AttemptResponse } from '../record/records.js'

/** How much of an answer is read. */
export const MAX_BODY_BYTES = 64 * 1024
const MAX_HEADERS = 100
const MAX_HEADER_CHARACTERS = 4096

/** The record of an answer, with bounds on its headers and its body. */
export function answerOf(
  status: number,
  headers: Iterable<readonly [string, string]>,
  body: { readonly chunks: readonly Uint8Array[]; readonly truncated: boolean },
): AttemptResponse {
  const bytes = Buffer.concat(body.chunks).subarray(0, MAX_BODY_BYTES)
  return {
    status,
    headers: boundedHeaders(headers),
    // A character that was cut in two is dropped.
    body: new TextDecoder().decode(bytes, { stream: body.truncated }),
    truncated: body.truncated,
  }
}

function boundedHeaders(headers: Iterable<readonly [string, string]>): Record<string, string> {
  const bounded = new Map<string, string>()
  for (const [name, value] of headers) {
    const key = name.toLowerCase()
    const before = bounded.get(key)
    if (before === undefined && bounded.size >= MAX_HEADERS) break
    bounded.set(key, (before === undefined ? value : `${before}, ${value}`).slice(0, MAX_HEADER_CHARACTERS))
  }
  return Object.fromEntries(bounded)
}
