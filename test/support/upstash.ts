import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
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

/** Starts it on a free loopback port. */
export async function startUpstash(redisUrl: string): Promise<UpstashServer> {
  const redis = new Redis(redisUrl)
  const paths: string[] = []

  async function answer(request: IncomingMessage): Promise<readonly [status: number, body: unknown]> {
    paths.push(request.url ?? '')
    if (request.headers.authorization !== `Bearer ${UPSTASH_TOKEN}`) {
      return [401, { error: 'WRONGPASS invalid or missing auth token' }]
    }
    const body = JSON.parse(await text(request))
    const encode = request.headers['upstash-encoding'] === 'base64' ? inBase64 : (value: unknown) => value
    const run = async (command: unknown[]): Promise<Reply> => {
      const [name = '', ...args] = command.map(String)
      if (self.isExhausted) return { error: 'ERR max requests limit exceeded. Limit: 10000, Usage: 10000.' }
      return redis.call(name, ...args).then(
        (result) => ({ result: encode(result) }),
        (error: Error) => ({ error: error.message }),
      )
    }
    if (request.url === '/pipeline') return [200, await Promise.all((body as unknown[][]).map(run))]
    const reply = await run(body)
    return ['error' in reply ? 400 : 200, reply]
  }

  const server = createServer(async (request, response) => {
    const [status, body] = await answer(request).catch((error) => [400, { error: String(error) }] as const)
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

  const self: UpstashServer = {
    url,
    paths,
    isExhausted: false,
    client: (settings) =>
      new Upstash({ url, token: UPSTASH_TOKEN, enableTelemetry: false, retry: false, ...settings }),
    async close() {
      server.closeAllConnections()
      await new Promise<void>((resolve) => server.close(() => resolve()))
      redis.disconnect()
    },
  }
  return self
}

/** Upstash encodes every string except OK. */
function inBase64(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inBase64)
  return typeof value === 'string' && value !== 'OK' ? Buffer.from(value).toString('base64') : value
}
