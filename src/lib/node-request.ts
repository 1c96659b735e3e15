import { pause } from './timers.js'

/** What Node's request over HTTP/1 or HTTP/2 knows of its client. */
export interface NodeRequest {
  readonly aborted?: boolean
  readonly httpVersionMajor: number
  readonly headers: object
}

/** Node's request under a web-standard one, where a server of Node's has made that of it. */
export function nodeRequestUnder(request: object): NodeRequest | undefined {
  // @hono/node-server holds it under a symbol, and so do the frameworks on it.
  for (const key of Object.getOwnPropertySymbols(request)) {
    const held: unknown = Reflect.get(request, key)
    if (typeof held === 'object' && held !== null && 'httpVersionMajor' in held) return held as NodeRequest
  }
  return undefined
}

const CHECKS = 10
const CHECK_MS = 10

/**
 * Whether the client of a body that was read has gone. Over HTTP/2 without a length, a client that breaks off may end its
 * stream like one that has sent all, and reset it in the next frame; so this waits up to 100 ms for the reset.
 */
export async function isCutOff(request: Partial<NodeRequest>): Promise<boolean> {
  if (request.httpVersionMajor === 2 && !('content-length' in (request.headers ?? {}))) {
    for (let i = 0; i < CHECKS && !request.aborted; i++) await pause(CHECK_MS)
  }
  return request.aborted === true
}
