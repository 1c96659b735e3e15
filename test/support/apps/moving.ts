import { createServer, type RequestListener, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import { Pool } from 'pg'

/** A receiver of the package as the snippets export it. */
interface FetchHandler {
  (request: Request): Promise<Response>
  drain(): Promise<void>
}

/** A receiver under its own path, and its drain. */
export interface Route {
  readonly listener: RequestListener
  drain(): Promise<void>
}

/** For the effects: those of an inbox go through its own transaction. */
export const pool = new Pool({ max: 6 }).on('error', () => {})

export const issue = async (order: string): Promise<void> =>
  void (await pool.query('INSERT INTO tickets (order_id) VALUES ($1)', [order]))

/** The parts of the reader's app that the snippets use. */
Object.assign(globalThis, {
  handleOrder: (event: { data: { order: { id: string } } }) => issue(event.data.order.id),
})

export function routeOf(POST: FetchHandler): Route {
  return { listener: getRequestListener(POST), drain: () => POST.drain() }
}

/** A route whose receiver cannot drain: it is ended when its last request is answered. */
export function closedBy(listener: RequestListener): Route {
  const open = new Set<ServerResponse>()
  let isOpen = true
  let settle = (): void => {}
  return {
    listener(request, response) {
      if (!isOpen) return response.writeHead(503).end()
      open.add(response)
      response.on('close', () => {
        open.delete(response)
        if (open.size === 0) settle()
      })
      return listener(request, response)
    },
    drain() {
      isOpen = false
      return new Promise((resolve) => {
        settle = resolve
        if (open.size === 0) resolve()
      })
    },
  }
}

/** Serves `/<route>/hooks`, and `/<route>/drain`, which is answered when it is done. */
export function serveRoutes(routes: Readonly<Record<string, Route>>): void {
  const server = createServer((request, response) => {
    const [, name = '', action] = request.url?.split('/') ?? []
    const route = routes[name]
    if (route === undefined) response.writeHead(404).end()
    else if (action === 'drain') void route.drain().then(() => response.end())
    else void route.listener(request, response)
  })
  server.keepAliveTimeout = 60_000
  server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }))
  // The test is gone.
  process.once('disconnect', () => process.exit(1))
}
