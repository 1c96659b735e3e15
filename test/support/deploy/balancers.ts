import { Agent, get, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { connect } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { listen } from '../http.js'

/** A proxy before the instances of an app, as one meets them in production. It never tries a request again. */
export interface Balancer {
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
  const server = await listen((incoming, answer) => forward({ agent, host: 'service' }, incoming, answer))
  return {
    url: server.url,
    async close() {
      await server.close()
      agent.destroy()
    },
  }
}

/** A place in the configuration of HAProxy: the port of the instance that serves there. */
export interface Slot {
  port: number
}

const CHECK_EVERY_MS = 100
const RISE = 1
const FALL = 3

/** HAProxy as in examples/deploy/haproxy.cfg, with ten checks a second: an instance is chosen for each request. */
export async function checkingBalancer(slots: readonly Slot[]): Promise<Balancer> {
  let isClosed = false
  const backends = slots.map((slot) => ({ slot, agent: new Agent({ keepAlive: true }), isUp: true }))

  /** Waits for each answer, so that an instance that is only slow, on a loaded machine, stays up. */
  async function check(backend: (typeof backends)[number]): Promise<void> {
    let different = 0
    while (!isClosed) {
      const ready = await isReady(backend.slot.port)
      different = ready === backend.isUp ? 0 : different + 1
      if (different >= (ready ? RISE : FALL)) {
        backend.isUp = ready
        different = 0
      }
      await pause(CHECK_EVERY_MS)
    }
  }
  for (const backend of backends) void check(backend)

  let count = 0
  const server = await listen((incoming, answer) => {
    const up = backends.filter(({ isUp }) => isUp)
    const chosen = up[count++ % up.length]
    if (chosen === undefined) {
      answer.writeHead(503).end('no instance is up')
      return
    }
    forward({ agent: chosen.agent, host: '127.0.0.1', port: chosen.slot.port }, incoming, answer)
  })
  return {
    url: server.url,
    async close() {
      isClosed = true
      await server.close()
      for (const { agent } of backends) agent.destroy()
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

interface Target {
  readonly agent: Agent
  readonly host: string
  readonly port?: number
}

function forward(target: Target, incoming: IncomingMessage, answer: ServerResponse): void {
  const { method, url: path, headers } = incoming
  const { connection: _own, ...passed } = headers
  const outgoing = request({ ...target, method, path, headers: passed }, (response) => {
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
