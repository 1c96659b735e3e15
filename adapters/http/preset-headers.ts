/** Headers about the body, its framing, or the retry: only we may set them. */
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
 * Removes headers that a middleware preset and that would make our answer wrong or unreadable: of the framing, the encoding, caching and
 * the retry.
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
