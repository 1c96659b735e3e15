import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Readable } from 'node:stream'
import { alreadyRead, type BodyReader, tooLarge, wentAway } from './body.js'
import type { WebhookOptions } from './options.js'
import { type Answer, answerTo } from './outcome.js'
import { createReceiver, type Receiver } from './receiver.js'
import type { SchemaMap } from './schema.js'

/** A listener for `node:http`. */
export interface NodeWebhooks extends Pick<Receiver, 'drain'> {
  (request: IncomingMessage, response: ServerResponse): Promise<void>
}

/**
 * Receives the service's webhooks with `node:http` alone. All but POST is answered 405; the path is yours to look at.
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
export function tixWebhooks<Tx = undefined, Schemas extends SchemaMap = Record<never, never>>(
  options: WebhookOptions<IncomingMessage, Tx, Schemas>,
): NodeWebhooks {
  const receiver = createReceiver(options)

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const outcome = await receiver.receive({
      header: request.headers[receiver.headerName],
      body: streamBody(request),
      request,
      method: request.method,
      contentEncoding: request.headers['content-encoding'],
      isAnswered: () => response.headersSent,
    })
    sendAnswer(response, answerTo(outcome))
  }

  return Object.assign(handle, { drain: receiver.drain })
}

/** Sends an answer, unless somebody else has answered or the client is gone. */
export function sendAnswer(response: ServerResponse, { status, headers, body }: Answer): void {
  if (response.headersSent || response.destroyed) return
  response.writeHead(status, { ...headers, 'content-length': Buffer.byteLength(body) }).end(body)
}

/**
 * A bounded reader of a Node request, for any adapter that has one.
 *
 * @param advice how to fix it where the stream was read before: what the refusal says
 * @returns a reader that refuses as `misconfigured` where the stream was read before
 * @example
 * ```ts
 * const outcome = await receiver.receive({ header, body: streamBody(ctx.req), request: ctx })
 * ```
 */
export function streamBody(
  stream: Readable,
  advice = 'Mount the webhook route before anything that reads the body.',
): BodyReader {
  let letGo = (): void => {}

  const read = (maxBytes: number): Promise<Uint8Array> =>
    new Promise((resolve, reject) => {
      const chunks: Buffer[] = []
      let length = 0

      function onData(chunk: Buffer | string): void {
        const bytes =
          typeof chunk === 'string' ? Buffer.from(chunk, stream.readableEncoding ?? 'utf8') : chunk
        length += bytes.length
        if (length > maxBytes) refuse(tooLarge(maxBytes))
        else chunks.push(bytes)
      }
      function onEnd(): void {
        letGo()
        resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, length))
      }
      function onGone(cause?: unknown): void {
        refuse(wentAway(cause))
      }
      function refuse(error: Error): void {
        letGo()
        // What a client still sends is thrown away: one that is cut off while it sends would never see the answer. Any
        // other stream just stops: one that inflates would go on to the end of a bomb.
        if ('headers' in stream) stream.resume()
        else stream.pause()
        reject(error)
      }
      letGo = () => {
        stream.off('data', onData).off('end', onEnd).off('close', onGone)
      }

      // By the state of the stream and not by what a parser left: some set an empty body on streams that they did not read.
      if (stream.readableDidRead || stream.readableEnded) {
        reject(alreadyRead(advice))
        return
      }
      // This listener stays: without one, an error that comes later would take the process down.
      stream.on('error', onGone)
      if (stream.destroyed) onGone(stream.errored)
      else if (declaredLength(stream) > maxBytes) refuse(tooLarge(maxBytes))
      else stream.on('data', onData).on('end', onEnd).on('close', onGone).resume()
    })

  return Object.assign(read, { cancel: () => letGo() })
}

function declaredLength(stream: Readable): number {
  const { headers } = stream as Partial<IncomingMessage>
  return Number(headers?.['content-length'] ?? 0)
}
