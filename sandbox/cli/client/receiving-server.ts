import { createServer, type IncomingMessage, type OutgoingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { isWebhookError } from 'tix-webhooks'
import { streamBody } from 'tix-webhooks/node'
import { codeOf, UsageError } from '../failure.js'

/** A request as it came in. */
export interface Received {
  readonly method: string
  readonly path: string
  /** Name, value, name, value: exactly as sent. */
  readonly rawHeaders: readonly string[]
  readonly headers: IncomingMessage['headers']
  readonly body: Uint8Array
}

/** The response to a delivery. */
export interface Reply {
  readonly status: number
  readonly headers?: OutgoingHttpHeaders
  readonly body?: Uint8Array
}

/** A port that takes requests. */
export interface ReceivingServer {
  /** The URL with the actual port, such as `http://127.0.0.1:50123/`. */
  readonly url: string
  close(): Promise<void>
}

const HOST = '127.0.0.1'
const MAX_BODY_BYTES = 16 * 1024 * 1024
const TOO_LARGE = 413
const BAD_GATEWAY = 502

/**
 * Takes requests on a port of this machine.
 *
 * @param port 0 is any that is free
 * @param reply what cannot be sent, or a rejection, is answered 502
 * @throws UsageError if the port is taken
 */
export async function receive(
  port: number,
  reply: (request: Received) => Promise<Reply>,
): Promise<ReceivingServer> {
  const server = createServer((request, response) => {
    // A sender that goes away in the middle needs no answer.
    request.on('error', () => {})
    response.on('error', () => {})
    answer(request, response, reply).catch(() => fail(response))
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause) => reject(codeOf(cause) === 'EADDRINUSE' ? portTaken(port, cause) : cause))
    server.listen(port, HOST, resolve)
  })
  const { port: actual } = server.address() as AddressInfo
  return {
    url: `http://${HOST}:${actual}/`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

/** The advice if a port is in use. */
function portTaken(port: number, cause: unknown): UsageError {
  return new UsageError(
    `Port ${port} is in use, perhaps by another tix-webhooks. Choose one with --port N, or --port 0 for any free port.`,
    { cause },
  )
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  reply: (request: Received) => Promise<Reply>,
): Promise<void> {
  const body = await bodyOf(request)
  if (body === 'gone') return
  const {
    status,
    headers = {},
    body: content,
  } = body === 'too large'
    ? { status: TOO_LARGE }
    : await reply({
        method: request.method ?? '',
        path: request.url ?? '/',
        rawHeaders: request.rawHeaders,
        headers: request.headers,
        body,
      })
  response.writeHead(status, {
    ...headers,
    ...(content !== undefined && { 'content-length': content.length }),
  })
  response.end(content)
}

/** One answer that cannot be given ends neither the process nor what else it receives. */
function fail(response: ServerResponse): void {
  if (response.headersSent) response.destroy()
  else response.writeHead(BAD_GATEWAY, { connection: 'close' }).end()
}

async function bodyOf(request: IncomingMessage): Promise<Uint8Array | 'too large' | 'gone'> {
  try {
    return await streamBody(request)(MAX_BODY_BYTES)
  } catch (error) {
    return isWebhookError(error) && error.code === 'too_large' ? 'too large' : 'gone'
  }
}
