import {
  type ClientRequest,
  request as httpRequest,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  type RequestOptions,
} from 'node:http'
import { request as httpsRequest } from 'node:https'
import { setTimeout as setTimeoutPromise } from 'node:timers/promises'
import { MAX_TIMER_MS } from '../../time/duration.js'
import type { AttemptResponse } from '../record/records.js'
import { type AddressRules, checkDestination, checkedLookup } from './address-rules.js'
import { answerOf, MAX_BODY_BYTES } from './answer.js'
import { codedError, errorOf } from './network-error.js'
import type { OutgoingRequest, Send } from './send.js'
import { isChunked, piecesOf, SLOW_PIECE_MS } from './transport.js'

export interface HttpSenderOptions extends AddressRules {
  /** How names are resolved. Default: `lookup` of `node:dns`. */
  lookup?: Parameters<typeof checkedLookup>[1]
}

/** Taken before any test puts a clock of its own in its place. */
const pause = setTimeoutPromise

/**
 * Sends over the network, each request on a connection of its own. It follows no redirect. `fetch` would not do: it refuses some
 * ports, and gives no say in which address it connects to.
 */
export function httpSender({ lookup, ...rules }: HttpSenderOptions = {}): Send {
  const resolve = checkedLookup(rules, lookup)
  return async (request) => {
    try {
      checkDestination(request.url, rules)
      return { response: await exchange(request, { agent: false, lookup: resolve }) }
    } catch (error) {
      return { error: errorOf(error) }
    }
  }
}

function exchange(outgoing: OutgoingRequest, options: RequestOptions): Promise<AttemptResponse> {
  const url = new URL(outgoing.url)
  const { body, timeoutMs, transport = 'whole', signal } = outgoing
  const open = url.protocol === 'https:' ? httpsRequest : httpRequest
  return new Promise((resolve, reject) => {
    const request = open(url, { ...options, signal, method: 'POST', headers: headersOf(outgoing) })
    const timer = timeoutMs === 0 ? undefined : setTimeout(expire, Math.min(timeoutMs, MAX_TIMER_MS))
    function expire(): void {
      reject(codedError('timeout', `There was no complete answer within ${timeoutMs} ms.`))
      request.destroy()
    }
    let answer: IncomingMessage | undefined
    request.on('response', (response) => {
      answer = response
      read(response, resolve, reject)
    })
    request.on('error', (error) => {
      // Bytes after a complete answer are ignored: some frameworks send a 204 with a body.
      if (answer?.complete !== true) reject(error)
    })
    request.on('close', () => {
      clearTimeout(timer)
      // A complete answer may still have to be read. Otherwise the connection was closed without one; a second rejection does nothing.
      if (answer?.complete !== true) {
        reject(codedError('ECONNRESET', 'The connection was closed before there was a complete answer.'))
      }
    })
    void write(request, body, transport)
  })
}

function headersOf({ headers, body, transport }: OutgoingRequest): OutgoingHttpHeaders {
  const { 'content-length': _, ...others } = headers
  const length = isChunked(transport)
    ? { 'transfer-encoding': 'chunked' }
    : { 'content-length': String(body.length) }
  return { ...others, ...length, connection: 'close' }
}

async function write(
  request: ClientRequest,
  body: Uint8Array,
  transport: NonNullable<OutgoingRequest['transport']>,
): Promise<void> {
  if (transport === 'whole') {
    request.end(body)
    return
  }
  for (const [index, piece] of piecesOf(body, transport).entries()) {
    if (index > 0 && transport === 'slow') await pause(SLOW_PIECE_MS)
    if (request.destroyed) return
    request.write(piece)
  }
  request.end()
}

/** Reads as much as is kept, and then hangs up. */
function read(
  response: IncomingMessage,
  resolve: (answer: AttemptResponse) => void,
  reject: (error: unknown) => void,
): void {
  const chunks: Buffer[] = []
  let bytes = 0
  const finish = (truncated: boolean) =>
    resolve(answerOf(response.statusCode ?? 0, pairs(response.rawHeaders), { chunks, truncated }))
  response.on('error', reject)
  response.on('end', () => finish(false))
  response.on('data', (chunk: Buffer) => {
    chunks.push(chunk)
    bytes += chunk.length
    if (bytes <= MAX_BODY_BYTES) return
    finish(true)
    response.destroy()
  })
}

function* pairs(rawHeaders: readonly string[]): Generator<readonly [string, string]> {
  for (let at = 0; at + 1 < rawHeaders.length; at += 2)
    yield [String(rawHeaders[at]), String(rawHeaders[at + 1])]
}
