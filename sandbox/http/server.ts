import { createServer, type Server } from 'node:http'
import { isIPv6 } from 'node:net'
import { getRequestListener, type HttpBindings } from '@hono/node-server'
import { checkOptionNames } from '../lib/option-names.js'
import type { App } from './context.js'

/** A port that is served. */
export interface Listening {
  /** Its base address. */
  readonly url: string
  readonly port: number
  /** Closes all connections, including streams. Resolves when the port is free. */
  close(): Promise<void>
}

/** A port that nobody else can have, and that answers nothing yet. */
export interface ReservedPort extends Listening {
  /** Starts to answer. Call it in the same turn in which the port was opened, or requests are lost. */
  serve(app: Pick<App, 'fetch'>): void
}

/** The address to listen at: `port` by default any free one, `host` by default 127.0.0.1, this machine alone. */
export interface ListenAt {
  readonly port?: number | undefined
  readonly host?: string | undefined
}

const EVERYWHERE: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' }

/** Serves the app. @throws Error that says what to do when the port cannot be had */
export async function listen(app: Pick<App, 'fetch'>, at: ListenAt = {}): Promise<Listening> {
  const held = await reservePort(checkOptionNames(at, ['port', 'host']))
  held.serve(app)
  return held
}

/** Takes a port before there is anything to serve. @throws Error that says what to do when it cannot be had */
export async function reservePort({ port = 0, host = '127.0.0.1' }: ListenAt = {}): Promise<ReservedPort> {
  const server = createServer()
  await begin(server, port, host)
  const address = server.address()
  const bound = typeof address === 'object' && address !== null ? address.port : port
  const name = EVERYWHERE[host] ?? host
  return {
    url: `http://${isIPv6(name) ? `[${name}]` : name}:${bound}`,
    port: bound,
    serve(app) {
      // The globals of a test that uses the sandbox are not replaced.
      const fetch = (request: Request, env: unknown): Response | Promise<Response> =>
        app.fetch(request, { drop: () => (env as HttpBindings).incoming.socket.destroy() })
      server.on('request', getRequestListener(fetch, { overrideGlobalObjects: false }))
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

function begin(server: Server, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error) => reject(explained(error, port, host)))
    server.listen(port, host, resolve)
  })
}

const ADVICE: Readonly<Record<string, (port: number, host: string) => string>> = {
  EADDRINUSE: (port) =>
    `Port ${port} is taken: perhaps a sandbox runs already. Stop what uses it, or choose another one (--port 0 takes any that is free).`,
  EACCES: (port) => `Port ${port} is not allowed: ports below 1024 need rights. Choose a higher one.`,
  EADDRNOTAVAIL: (_port, host) =>
    `This machine has no address ${host}. Use 127.0.0.1, or leave the host out.`,
  ENOTFOUND: (_port, host) => `There is no host ${host}. Use 127.0.0.1, or leave the host out.`,
}

function explained(error: NodeJS.ErrnoException, port: number, host: string): Error {
  const advice = ADVICE[error.code ?? '']
  return advice === undefined ? error : new Error(advice(port, host), { cause: error })
}
