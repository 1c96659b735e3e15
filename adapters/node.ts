import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Http2ServerResponse } from 'node:http2'
import type { Readable } from 'node:stream'
import {
  type Account,
  answerTo,
  type BodyReader,
  type Delivery,
  type Operations,
  type Outcome,
  type Receiver,
  type SchemaMap,
  type WebhookOptions,
} from '../src/index.js'
import {
  alreadyRead,
  answerWrongHost,
  callSafely,
  checkLength,
  createReceiverFor,
  ignoreRejection,
  operationsOf,
  outcomeOfFault,
  wantsRetry,
  wentAway,
} from '../src/internal.js'
import { ByteCollector } from './http/byte-collector.js'
import { isCutOff, type NodeRequest } from './http/node-request.js'
import { removePresetHeaders } from './http/preset-headers.js'

export { removePresetHeaders }

/** A listener for `node:http`. */
export interface NodeWebhooks extends Operations<IncomingMessage> {
  (request: IncomingMessage, response: ServerResponse): Promise<void>
}

/**
 * Receives the service's webhooks with `node:http` alone. Methods other than POST get 405; checking the path is up to you.
 *
 * @throws TypeError that names the option and the fix
 * @example
 * ```ts
 * import { createServer } from 'node:http'
 * import { tixWebhooks } from 'tix-webhooks/node'
 *
 * createServer(tixWebhooks({ secret: process.env.TIX_SIGNING_SECRET, on: { 'order.created': () => {} } })).listen(3000)
 * ```
 */
export function tixWebhooks<
  Tx = undefined,
  Schemas extends SchemaMap<keyof Schemas> = Record<never, never>,
  Found extends Account | undefined = undefined,
>(options: WebhookOptions<IncomingMessage, Tx, Schemas, Found>): NodeWebhooks {
  const receiver = createReceiverFor(tixWebhooks, options)

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const wrong = answerWrongHost('node', [request, response], options.onError)
    if (wrong !== undefined) return wrong.returned as undefined
    try {
      const advice = NEXT_META in request ? NEXT_ADVICE : undefined
      await receiveRequest(receiver, request, response, { body: streamBody(request, { advice }) })
    } catch (error) {
      sendFailure(response, error, { request, onError: options.onError })
    }
  }

  return Object.assign(handle, operationsOf(receiver))
}

/** Set by Next on the requests of its pages router, which parses the body before it calls a file. */
const NEXT_META = Symbol.for('NextInternalRequestMeta')
const NEXT_ADVICE =
  "In Next's pages router, add this line to the file: export const config = { api: { bodyParser: false } }"

export interface ReceiveRequestOptions extends Partial<Pick<Delivery, 'body' | 'hint' | 'path'>> {}

/**
 * Has a receiver take one request, and sends the answer: an adapter for a framework whose requests and responses are those of Node, over
 * HTTP/1. Rejects when the answer cannot be sent, as when a middleware has wrapped the response: see `sendFailure`.
 *
 * @param options.body the bytes, or a reader of them. Default: `streamBody(request)`
 * @param options.path see `Delivery`. Default: the request's `url`
 * @example
 * ```ts
 * import { createServer } from 'node:http'
 * import { createReceiver } from 'tix-webhooks'
 * import { receiveRequest } from 'tix-webhooks/node'
 *
 * const receiver = createReceiver({ secret: process.env.TIX_SIGNING_SECRET, on: { 'order.created': () => {} } })
 * createServer((request, response) => receiveRequest(receiver, request, response))
 * ```
 */
export async function receiveRequest<Request extends IncomingMessage>(
  receiver: Pick<Receiver<Request>, 'receive' | 'headerName'>,
  request: Request,
  response: ServerResponse,
  { body = streamBody(request), hint, path = () => request.url }: ReceiveRequestOptions = {},
): Promise<void> {
  const wasBegun = response.headersSent
  // An 'error' event without a listener ends the process, such as that of a handler that writes after our answer.
  request.on('error', () => {})
  response.on('error', () => {})
  const outcome = await receiver.receive({
    header: request.headers[receiver.headerName],
    body,
    request,
    method: request.method,
    contentEncoding: request.headers['content-encoding'],
    hint,
    path,
    isAnswered: () => response.headersSent,
  })
  sendAnswer(response, outcome, { wasBegun })
}

export interface SendAnswerOptions {
  /**
   * Whether the headers were sent before the request came to you, by a middleware that flushed them: the response is then ended, and its
   * connection cut if the answer is a 5xx. Default false: a response that has begun is left alone.
   */
  wasBegun?: boolean | undefined
}

/**
 * Sends the answer to an outcome, over HTTP/1 or HTTP/2, unless the request was already answered or the client is gone. Preset headers of
 * the response are removed.
 *
 * @example
 * ```ts
 * import { createServer } from 'node:http'
 * import { createReceiver } from 'tix-webhooks'
 * import { sendAnswer, streamBody } from 'tix-webhooks/node'
 *
 * const receiver = createReceiver({ secret: process.env.TIX_SIGNING_SECRET, on: { 'order.created': () => {} } })
 * createServer(async (request, response) => {
 *   const header = request.headers[receiver.headerName]
 *   sendAnswer(response, await receiver.receive({ header, body: streamBody(request), request }))
 * })
 * ```
 */
export function sendAnswer(
  response: ServerResponse | Http2ServerResponse,
  outcome: Outcome,
  { wasBegun = false }: SendAnswerOptions = {},
): void {
  if (wasBegun) endBegun(response, outcome)
  if (response.headersSent || response.destroyed) return
  const isHttp2 = 'stream' in response
  const { status, headers, body } = answerTo(outcome, { httpVersionMajor: isHttp2 ? 2 : 1 })
  removePresetHeaders((name) => response.hasHeader(name) && response.removeHeader(name))
  // HTTP/2 has no reason phrase, and Node warns of one.
  if (!isHttp2) response.statusMessage = ''
  // Not chained: a wrapper may return nothing, or a promise.
  response.writeHead(status, { ...headers, 'content-length': Buffer.byteLength(body) })
  ignoreRejection(response.end(body))
}

function endBegun(response: ServerResponse | Http2ServerResponse, outcome: Outcome): void {
  if (response.writableEnded) return
  // The sender has seen another status; a cut connection makes it retry all the same.
  if (wantsRetry(outcome)) response.destroy()
  else ignoreRejection(response.end())
}

export interface SendFailureOptions<Request> {
  /** The framework's own request, for `onError`. */
  request: Request
  /** The receiver's option. Default: `console.error`. */
  onError?: WebhookOptions<Request>['onError']
}

/**
 * Ends a request whose answer could not be made or sent, if no framework handles the error: reports it, and answers 500 (another
 * status for an error of ours that has one), or closes the connection if that fails too. Never throws.
 *
 * @example
 * ```ts
 * import { createServer } from 'node:http'
 * import { sendFailure } from 'tix-webhooks/node'
 *
 * createServer((request, response) => {
 *   try {
 *     response.end(request.url)
 *   } catch (error) {
 *     sendFailure(response, error, { request })
 *   }
 * })
 * ```
 */
export function sendFailure<Request>(
  response: ServerResponse | Http2ServerResponse,
  error: unknown,
  { request, onError }: SendFailureOptions<Request> = {} as SendFailureOptions<Request>,
): void {
  callSafely(() =>
    onError === undefined
      ? console.error(
          'tix-webhooks: The request was not answered, because the app or a middleware threw:',
          error,
        )
      : onError(error, { request }),
  )
  try {
    sendAnswer(response, outcomeOfFault(error))
    if (response.writableEnded) return
  } catch {
    // All that remains is to close the connection.
  }
  callSafely(() => response.destroy())
}

export interface StreamBodyOptions {
  /** How to fix it if the stream was already read: the end of the refusal's message. Default: to mount the route before what reads it. */
  advice?: string | undefined
  /**
   * The request itself, over HTTP/1 or HTTP/2, if the stream is a layer over it, such as one that inflates: not a copy, since its `aborted` is
   * read later. Default: the stream.
   */
  request?: Partial<NodeRequest> | undefined
}

/**
 * A bounded reader of a Node request, for any adapter with a Node stream.
 *
 * @returns a reader that refuses as `misconfigured` if the stream was already read
 * @example
 * ```ts
 * const outcome = await receiver.receive({ header, body: streamBody(ctx.req), request: ctx })
 * ```
 */
export function streamBody(
  stream: Readable,
  {
    advice = 'Mount the webhook route before anything that reads the body.',
    request = stream as Readable & Partial<NodeRequest>,
  }: StreamBodyOptions = {},
): BodyReader {
  let letGo = (): void => {}
  // We may answer without reading it, and an 'error' event without a listener ends the process.
  stream.on('error', () => {})

  const read = (maxBytes: number): Promise<Uint8Array> =>
    new Promise((resolve, reject) => {
      const collector = new ByteCollector(maxBytes)

      function onData(chunk: unknown): void {
        try {
          collector.add(
            typeof chunk === 'string' ? Buffer.from(chunk, stream.readableEncoding ?? 'utf8') : chunk,
          )
        } catch (error) {
          refuse(error)
        }
      }
      function onEnd(): void {
        // Over HTTP/2, a stream that was cut off ends like any other.
        if (request.aborted) {
          onGone()
          return
        }
        const bytes = collector.join()
        letGo()
        // Always a Buffer, however many chunks there were: handlers may rely on its methods.
        resolve(Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer))
      }
      function onGone(cause?: unknown): void {
        refuse(wentAway(cause))
      }
      function refuse(error: unknown): void {
        letGo()
        // The rest of the body is discarded: a client that is cut off while it sends would never see the answer. Any other stream is just
        // stopped: one that inflates would go on to the end of a zip bomb.
        if ('headers' in stream) stream.resume()
        else stream.pause()
        reject(error)
      }
      letGo = () => {
        stream.off('data', onData).off('end', onEnd).off('error', onGone).off('close', onGone)
        collector.clear()
      }

      // By the stream's state, not a parsed body: some parsers set an empty body on streams that they did not read.
      if (stream.readableDidRead || stream.readableEnded) {
        reject(alreadyRead(advice))
        return
      }
      if (stream.destroyed) return onGone(stream.errored)
      try {
        checkLength(declaredLength(stream), maxBytes)
        stream.on('data', onData).on('end', onEnd).on('error', onGone).on('close', onGone).resume()
      } catch (error) {
        refuse(error)
      }
    })

  read.cancel = () => letGo()
  // Node never pauses a resumed stream by itself.
  read.isHeldUp = () => stream.isPaused() || stream.listenerCount('readable') > 0
  read.isCutOff = () => isCutOff(request)
  return read
}

function declaredLength(stream: Readable): number {
  const { headers } = stream as Partial<IncomingMessage>
  return Number(headers?.['content-length'] ?? 0)
}
