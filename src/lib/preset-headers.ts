/** Headers that say something of the body, of how it is framed, or of when to retry: each is ours to set. */
const OURS = [
  'transfer-encoding',
  'trailer',
  'content-length',
  'content-encoding',
  'content-range',
  'etag',
  'retry-after',
]

/**
 * Removes the headers that a middleware has set for an answer of its own and that would make ours wrong or unreadable: of the
 * framing, the encoding, the age and the retry.
 *
 * @example
 * ```ts
 * import { createServer } from 'node:http'
 * import { removePresetHeaders } from 'tix-webhooks/node'
 *
 * createServer((_request, response) => {
 *   removePresetHeaders((name) => response.removeHeader(name))
 *   response.end('{"outcome":"handled"}')
 * })
 * ```
 */
export function removePresetHeaders(remove: (name: string) => unknown): void {
  for (const name of OURS) remove(name)
}
