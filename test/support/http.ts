import { once } from 'node:events'
import { createServer, request as httpRequest, type RequestListener, Server } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'

/** An answer, from any client. */
export interface HttpAnswer {
  readonly status: number
  /** Headers by lower-case name; several with the same name are joined with `, `. */
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
}

export interface Listening {
  readonly port: number
  readonly url: string
  /** Cuts open connections: kept-alive and half-open ones do not delay it. */
  close(): Promise<void>
}

/** Listens on a loopback port: a free one by default. */
export async function listen(handler: Server | RequestListener, at = 0): Promise<Listening> {
  const server = handler instanceof Server ? handler : createServer(handler)
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(at, '127.0.0.1', resolve)
  })
  const { port } = server.address() as AddressInfo
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        for (const socket of sockets) socket.destroy()
      }),
  }
}

/** The port of a server that an example starts. */
export async function portOf(server: Pick<Server, 'listening' | 'address'>): Promise<number> {
  if (!server.listening) await once(server as Server, 'listening')
  return (server.address() as AddressInfo).port
}

export interface PostOptions {
  /** Default `POST`. */
  readonly method?: string
  /** Default `/hooks`. */
  readonly path?: string
  /** Only `host`, `connection`, and the length or the chunking are added; a list is sent as one line each. */
  readonly headers?: Readonly<Record<string, string | readonly string[]>>
  /** Bytes are sent in one piece with their length, a list of them chunked. Default: no body. */
  readonly body?: Uint8Array | string | readonly Uint8Array[]
}

/** Sends one request on a new connection. */
export function post(port: number, options: PostOptions = {}): Promise<HttpAnswer> {
  const { method = 'POST', path = '/hooks', headers = {}, body } = options
  const chunks = isList(body) ? body : undefined
  const whole = isList(body) ? undefined : Buffer.from(body ?? '')
  return new Promise((resolve, reject) => {
    const request = httpRequest({
      host: '127.0.0.1',
      port,
      method,
      path,
      agent: false,
      headers: {
        ...Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, mutable(value)])),
        ...(whole === undefined ? { 'transfer-encoding': 'chunked' } : { 'content-length': whole.length }),
      },
    })
    request.on('error', reject)
    request.on('response', (response) => {
      const received: Buffer[] = []
      response.on('data', (data: Buffer) => received.push(data))
      response.on('error', reject)
      response.on('end', () => {
        resolve({
          status: response.statusCode ?? 0,
          headers: joinedHeaders(response.rawHeaders),
          text: Buffer.concat(received).toString(),
        })
      })
    })
    for (const chunk of chunks ?? []) request.write(chunk)
    request.end(whole)
  })
}

/** A client that sends any bytes at any time. */
export interface RawClient {
  /** Resolves when the bytes have been sent, or never can be. */
  write(bytes: Uint8Array | string): Promise<void>
  /** Waits for the server's `100 Continue`: it has the request's head by then, and its handler was called. */
  continued(): Promise<void>
  /** The next final answer. Rejects if the connection closes before it is complete. */
  answer(): Promise<HttpAnswer>
  /** Resolves when the connection is closed by either side. */
  readonly closed: Promise<void>
  /** Disconnects without finishing the request. */
  destroy(): void
  /** Closes the connection with an RST. */
  reset(): void
}

/** Opens a connection. */
export async function dial(port: number): Promise<RawClient> {
  let received: Buffer = Buffer.alloc(0)
  let isClosed = false
  let wake = (): void => {}
  const socket = connect({ port, host: '127.0.0.1', noDelay: true })
  // The way it ends does not matter here, only the data received before.
  socket.on('error', () => {})
  socket.on('data', (data) => {
    received = Buffer.concat([received, data])
    wake()
  })
  const closed = new Promise<void>((resolve) => {
    socket.on('close', () => {
      isClosed = true
      resolve()
      wake()
    })
  })
  await new Promise<void>((resolve, reject) => {
    socket.once('connect', resolve)
    socket.once('error', reject)
  })

  async function next(): Promise<HttpAnswer> {
    for (;;) {
      const parsed = parseAnswer(received)
      if (parsed !== undefined) {
        received = received.subarray(parsed.length)
        return parsed.answer
      }
      if (isClosed) {
        throw new Error(`The connection was closed before a whole answer came, after: ${received}`)
      }
      await new Promise<void>((resolve) => {
        wake = resolve
      })
    }
  }

  return {
    closed,
    write: (bytes) => new Promise((resolve) => socket.write(bytes, () => resolve())),
    async continued() {
      const { status } = await next()
      if (status !== 100) throw new Error(`Expected 100 Continue, not ${status}`)
    },
    async answer() {
      let answer = await next()
      while (answer.status < 200) answer = await next()
      return answer
    },
    destroy: () => socket.destroy(),
    reset: () => void socket.resetAndDestroy(),
  }
}

/** The head of a request, for a raw client: a list is sent as one line each. */
export function requestHead(
  headers: Readonly<Record<string, string | number | readonly string[]>>,
  { method = 'POST', path = '/hooks' }: Pick<PostOptions, 'method' | 'path'> = {},
): string {
  const lines = Object.entries({ host: 'localhost', ...headers }).flatMap(([name, value]) =>
    (Array.isArray(value) ? value : [value]).map((one) => `${name}: ${one}\r\n`),
  )
  return `${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n`
}

/** One piece of a chunked body. */
export function chunk(bytes: Uint8Array): Uint8Array {
  return Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')])
}

/** The end of a chunked body. */
export const LAST_CHUNK = '0\r\n\r\n'

/** Cuts bytes into pieces of `size`. */
export function pieces(bytes: Uint8Array, size: number): Uint8Array[] {
  return Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) =>
    bytes.subarray(i * size, (i + 1) * size),
  )
}

/** The first answer, once it is whole. All of ours have a length; those before a final one have no body. */
function parseAnswer(bytes: Buffer): { answer: HttpAnswer; length: number } | undefined {
  const headEnd = bytes.indexOf('\r\n\r\n')
  if (headEnd === -1) return undefined
  const [statusLine = '', ...lines] = bytes.toString('latin1', 0, headEnd).split('\r\n')
  const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(statusLine)?.[1])
  const headers = joinedHeaders(
    lines.flatMap((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trim()]),
  )
  if (status >= 200 && headers['content-length'] === undefined) throw new Error(`No length: ${bytes}`)
  const length = headEnd + 4 + Number(headers['content-length'] ?? 0)
  if (bytes.length < length) return undefined
  return { answer: { status, headers, text: bytes.toString('utf8', headEnd + 4, length) }, length }
}

function joinedHeaders(rawHeaders: readonly string[]): Record<string, string> {
  const headers: Record<string, string> = {}
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const name = String(rawHeaders[i]).toLowerCase()
    const value = String(rawHeaders[i + 1])
    headers[name] = name in headers ? `${headers[name]}, ${value}` : value
  }
  return headers
}

function isList(body: PostOptions['body']): body is readonly Uint8Array[] {
  return Array.isArray(body)
}

function mutable(value: string | readonly string[]): string | string[] {
  return typeof value === 'string' ? value : [...value]
}
