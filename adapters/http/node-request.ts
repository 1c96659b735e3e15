import { pause, RESET_CHECK_MS } from '../../src/internal.js'

/** The part of Node's request, over HTTP/1 or HTTP/2, that says whether its client is still there. */
export interface NodeRequest {
  readonly aborted?: boolean
  readonly httpVersionMajor: number
  readonly headers: object
}

/** The part of Node's request that says whether its body was read, and whether it can be read at once. */
interface NodeBody {
  readonly httpVersionMajor: number
  readonly readableDidRead?: boolean
  /** The bytes, if the host of a cloud function has read them. */
  readonly rawBody?: unknown
  readonly headers: { readonly 'content-length'?: string; readonly 'transfer-encoding'?: string }
}

/** Node's request under a web-standard one, if a Node server made it from that. */
export function nodeRequestUnder(request: object): NodeRequest | undefined {
  return heldBy(request, (held) => 'httpVersionMajor' in held) as NodeRequest | undefined
}

/** @hono/node-server keeps what a request is made of under symbols, and so do the frameworks built on it. */
function heldBy(request: object, isSought: (held: object) => boolean): object | undefined {
  for (const key of Object.getOwnPropertySymbols(request)) {
    const held: unknown = Reflect.get(request, key)
    if (typeof held === 'object' && held !== null && isSought(held)) return held
  }
  return undefined
}

/** Node's request under a web-standard one, unless that has a body of its own: after a clone, or a look at its body. */
export function nodeBodyUnder(request: Request): NodeBody | undefined {
  if (request.bodyUsed || heldBy(request, (held) => held instanceof Request)) return undefined
  return nodeRequestUnder(request) as NodeBody | undefined
}

/** Whether other code has read the body from Node's own request, so that a web-standard one would have the rest alone. */
export function wasRead({ readableDidRead, rawBody }: NodeBody): boolean {
  return readableDidRead === true && !(rawBody instanceof Uint8Array)
}

/** The server keeps each chunk of a body that it reads at once, and a sender may have sent it byte by byte: some 0.8 MB then. */
const MAX_AT_ONCE_BYTES = 4_096

/**
 * Whether the body can be read at once, because Node itself holds it to this limit and to ours. With @hono/node-server, a web stream costs
 * more than all the rest of a delivery.
 */
export function canReadAtOnce(
  { httpVersionMajor, readableDidRead, headers }: NodeBody,
  maxBytes: number,
): boolean {
  // One connection of HTTP/2 has a hundred such bodies at the same time.
  if (httpVersionMajor !== 1 || readableDidRead) return false
  const { 'content-length': length, 'transfer-encoding': coding } = headers
  // With both, which a lenient parser lets through, the chunks decide and not the length.
  return coding === undefined && Number(length) <= Math.min(maxBytes, MAX_AT_ONCE_BYTES)
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
