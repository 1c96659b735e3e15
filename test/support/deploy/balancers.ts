import { Agent, get, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { connect } from 'node:net'
import { listen } from '../http.js'

/** A proxy before the instances of an app, as one meets them in production. It never tries a request again. */
interface Balancer {
  readonly url: string
  close(): Promise<void>
}

/**
 * A Service of Kubernetes behind a proxy that keeps its connections: an endpoint is chosen for each connection, not for each request.
 *
 * @param endpoints the ports of the pods that are ready; it may change
 */
export async function serviceBalancer(endpoints: ReadonlySet<number>): Promise<Balancer> {
  // In turn, so that no connection rests.
  const agent = new Agent({ keepAlive: true, scheduling: 'fifo' })
  let count = 0
  agent.createConnection = () => {
    const ports = [...endpoints]
    return connect({ port: ports[count++ % ports.length] ?? 1, host: '127.0.0.1', noDelay: true })
  }
  const server = await listen((incoming, answer) => forward(agent, incoming, answer))
  return {
    url: server.url,
    async close() {
      await server.close()
      agent.destroy()
    },
  }
}

/** The answer to a readiness probe. */
export function isReady(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = get(
      { host: '127.0.0.1', port, path: '/ready', agent: false, timeout: 5_000 },
      (response) => {
        response.resume()
        resolve(response.statusCode === 200)
      },
    )
    probe.on('timeout', () => probe.destroy())
    probe.on('error', () => resolve(false))
  })
}

function forward(agent: Agent, incoming: IncomingMessage, answer: ServerResponse): void {
  const { method, url: path, headers } = incoming
  const { connection: _own, ...passed } = headers
  const outgoing = request({ agent, host: 'service', method, path, headers: passed }, (response) => {
    const { connection: _its, 'keep-alive': _too, ...kept } = response.headers
    answer.writeHead(response.statusCode ?? 502, kept)
    response.pipe(answer)
  })
  outgoing.on('error', (error) => {
    if (answer.headersSent) answer.destroy()
    else answer.writeHead(502).end(String(error))
  })
  incoming.pipe(outgoing)
}
