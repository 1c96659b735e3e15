import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type RedisConfigNodejs, Redis as Upstash } from '@upstash/redis'
import { Redis } from 'ioredis'

type Reply = { result: unknown } | { error: string }

/** Serves Upstash's REST protocol in front of a local Redis. */
export interface UpstashServer {
  readonly url: string
  /** The requested paths, in order. */
  readonly paths: readonly string[]
  /** Whether the plan's request quota is used up: then each command is refused, as Upstash does. */
  isExhausted: boolean
  /** A client of it, with the settings under test. */
  client(settings?: Partial<RedisConfigNodejs>): Upstash
  close(): Promise<void>
}

export const UPSTASH_TOKEN = 'a-token'
const MAX_BODY_BYTES = 1024 * 1024

/** Starts it on a free loopback port. */
export async function startUpstash(redisUrl: string): Promise<UpstashServer> {
  const redis = new Redis(redisUrl)
  const paths: string[] = []
  let isExhausted = false

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const send = (status: number, body: unknown): void => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    }
    const { pathname } = new URL(request.url ?? '/', 'http://upstash.test')
    paths.push(pathname)
    if (request.headers.authorization !== `Bearer ${UPSTASH_TOKEN}`) {
      return send(401, { error: 'WRONGPASS invalid or missing auth token' })
    }
    const body: unknown = JSON.parse(await textOf(request))
    const encode = request.headers['upstash-encoding'] === 'base64' ? inBase64 : (value: unknown) => value
    const written = (reply: Reply): Reply => ('error' in reply ? reply : { result: encode(reply.result) })
    if (pathname === '/pipeline') {
      return send(200, (await Promise.all(asCommands(body).map(run))).map(written))
    }
    const reply = await run(asCommand(body))
    return send('error' in reply ? 400 : 200, written(reply))
  }

  async function run([name = '', ...args]: string[]): Promise<Reply> {
    if (isExhausted) return { error: 'ERR max requests limit exceeded. Limit: 10000, Usage: 10000.' }
    try {
      return { result: await redis.call(name, ...args) }
    } catch (error) {
      return { error: error instanceof Error ? error.message : String(error) }
    }
  }

  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => {
      response.writeHead(400).end(JSON.stringify({ error: String(error) }))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

  return {
    url,
    paths,
    get isExhausted() {
      return isExhausted
    },
    set isExhausted(value) {
      isExhausted = value
    },
    client: (settings) =>
      new Upstash({ url, token: UPSTASH_TOKEN, enableTelemetry: false, retry: false, ...settings }),
    async close() {
      server.closeAllConnections()
      await new Promise<void>((resolve) => server.close(() => resolve()))
      redis.disconnect()
    },
  }
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > MAX_BODY_BYTES) throw new Error('ERR max request size exceeded')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}

function asCommand(value: unknown): string[] {
  if (!Array.isArray(value)) throw new TypeError('ERR a command is a list')
  return value.map(String)
}

function asCommands(value: unknown): string[][] {
  if (!Array.isArray(value)) throw new TypeError('ERR a pipeline is a list of commands')
  return value.map(asCommand)
}

/** Upstash encodes every string except OK. */
function inBase64(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inBase64)
  return typeof value === 'string' && value !== 'OK' ? Buffer.from(value).toString('base64') : value
}
