import type { IncomingHttpHeaders } from 'node:http'
import { listening } from './cli-server.js'

/** A request to a receiver. */
export interface Arrival {
  readonly method: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly rawHeaders: readonly string[]
  readonly body: Buffer
}

export interface TestReceiver {
  /** The URL of its hooks, with a query that a shell would split. */
  readonly url: string
  readonly port: number
  readonly arrivals: Arrival[]
}

/**
 * Listens on a free port until the test ends, and records requests.
 *
 * @param answer the status, or the whole answer; default 200
 */
export async function receiver(
  answer: (
    arrival: Arrival,
    index: number,
  ) => number | { status: number; headers?: Record<string, string>; body?: string | Uint8Array } = () => 200,
): Promise<TestReceiver> {
  const arrivals: Arrival[] = []
  const { url } = await listening(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const { method = '', url: path = '', headers, rawHeaders } = request
    const arrival = { method, path, headers, rawHeaders, body: Buffer.concat(chunks) }
    arrivals.push(arrival)
    const said = answer(arrival, arrivals.length - 1)
    const { status, headers: answered = {}, body = '' } = typeof said === 'number' ? { status: said } : said
    response.writeHead(status, answered)
    response.end(body)
  })
  return { url: `${url}?a=1&b=2`, port: Number(new URL(url).port), arrivals }
}
