import {
  request as httpRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type OutgoingHttpHeaders,
} from 'node:http'
import { request as httpsRequest } from 'node:https'

/** A request as a command makes it. */
export interface PlainRequest {
  readonly method: string
  readonly url: string
  readonly headers?: OutgoingHttpHeaders
  readonly body?: Uint8Array
  readonly signal?: AbortSignal
  /** How long nothing may be heard. Default: without end, for a sandbox may have 72 hours to do. */
  readonly silenceMs?: number
  /** How long an answer may take once it has begun: one that comes drop by drop would never end. Default 10 minutes. */
  readonly answerMs?: number
}

/** The whole answer, of any status. */
export interface PlainAnswer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: Uint8Array
}

const MAX_ANSWER_BYTES = 256 * 1024 * 1024
const ANSWER_MS = 10 * 60_000
/** A lower number is not a final status and cannot be passed on. */
const MIN_STATUS = 100

/**
 * Makes one request, and follows no redirect.
 * It is not `fetch`, which refuses some ports, and gives up after five minutes.
 *
 * @throws Error with the `code` of the system when there is no whole answer
 */
export function request({
  method,
  url,
  headers,
  body,
  signal,
  silenceMs,
  answerMs = ANSWER_MS,
}: PlainRequest): Promise<PlainAnswer> {
  const target = new URL(url)
  const send = target.protocol === 'https:' ? httpsRequest : httpRequest
  return new Promise((resolve, reject) => {
    const outgoing = send(target, {
      method,
      headers: { ...headers, ...(body !== undefined && { 'content-length': body.length }) },
      // A command makes few requests: there is nothing to keep a connection for.
      agent: false,
      ...(signal !== undefined && { signal }),
    })
    let answer: IncomingMessage | undefined
    let timer: NodeJS.Timeout | undefined
    outgoing.on('error', (error) => {
      // A 204 with a body, say: what comes after a whole answer is no part of it.
      if (answer?.complete !== true) reject(error)
    })
    outgoing.on('close', () => {
      clearTimeout(timer)
      if (answer?.complete !== true) reject(coded('ECONNRESET', 'the connection ended before the answer did'))
    })
    outgoing.on('upgrade', (_response, socket) => {
      socket.destroy()
      reject(coded('EPROTO', 'the answer is 101, although the request asked for no other protocol'))
    })
    if (silenceMs !== undefined) {
      outgoing.setTimeout(silenceMs, () =>
        outgoing.destroy(coded('ETIMEDOUT', `no answer within ${silenceMs} ms`)),
      )
    }
    outgoing.on('response', (response) => {
      answer = response
      const status = response.statusCode ?? 0
      if (status < MIN_STATUS) {
        outgoing.destroy()
        reject(coded('EPROTO', `the status of the answer is ${status}, which is not an HTTP status`))
        return
      }
      timer = setTimeout(() => {
        reject(coded('ETIMEDOUT', `the answer did not end within ${answerMs} ms`))
        outgoing.destroy()
      }, answerMs)
      const chunks: Buffer[] = []
      let size = 0
      response.on('data', (chunk: Buffer) => {
        size += chunk.length
        chunks.push(chunk)
        if (size > MAX_ANSWER_BYTES) response.destroy(coded('EMSGSIZE', 'the answer is larger than 256 MiB'))
      })
      response.on('error', reject)
      response.on('end', () => resolve({ status, headers: response.headers, body: Buffer.concat(chunks) }))
    })
    outgoing.end(body)
  })
}

const coded = (code: string, message: string): Error => Object.assign(new Error(message), { code })
