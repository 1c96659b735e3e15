import { RESET_CHECK_MS } from '../durations.js'
import { pause } from './time/timers.js'

/** The part of Node's request, over HTTP/1 or HTTP/2, that says whether its client is still there. */
export interface NodeRequest {
  readonly aborted?: boolean
  readonly httpVersionMajor: number
  readonly headers: object
}

/** Node's request under a web-standard one, if a Node server made it from that. */
export function nodeRequestUnder(request: object): NodeRequest | undefined {
  // @hono/node-server keeps it under a symbol, and so do the frameworks built on it.
  for (const key of Object.getOwnPropertySymbols(request)) {
    const held: unknown = Reflect.get(request, key)
    if (typeof held === 'object' && held !== null && 'httpVersionMajor' in held) return held as NodeRequest
  }
  return undefined
}

const CHECKS = 10

/**
 * Whether the client disconnected after its body was read. Over HTTP/2 without a length, a client that disconnects may end its stream as
 * if complete, and reset it in the next frame; so this waits up to 100 ms for the reset.
 */
export async function isCutOff(request: Partial<NodeRequest>): Promise<boolean> {
  if (request.httpVersionMajor === 2 && !('content-length' in (request.headers ?? {}))) {
    for (let i = 0; i < CHECKS && !request.aborted; i++) await pause(RESET_CHECK_MS)
  }
  return request.aborted === true
}
