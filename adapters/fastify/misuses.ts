import { ConfigurationError } from '../../src/index.js'

/** The property that each wrong use of route options reads, and the advice against that use. */
const MISUSES = {
  // `http.createServer` would take them for its own options, and answer nothing.
  IncomingMessage: 'in a node:http server import tix-webhooks/node',
  // Fastify binds a handler.
  bind: "pass them whole: app.post('/hooks', tixWebhooks({ … })), or app.route({ method: 'POST', url: '/hooks', ...tixWebhooks({ … }) })",
  // A route that returns or sends them would answer 200 with their JSON.
  toJSON: "do not return or send them in a route: app.post('/hooks', tixWebhooks({ … }))",
} as const

/** Has each wrong use of route options throw a `TypeError` with the fix. */
export function refuseMisuses<RouteOptions extends object>(routeOptions: RouteOptions): RouteOptions {
  for (const [name, advice] of Object.entries(MISUSES)) {
    // Not enumerable, or Fastify would copy it.
    Object.defineProperty(routeOptions, name, {
      get() {
        throw new TypeError(`This is tix-webhooks/fastify, whose route options are no handler: ${advice}.`)
      },
    })
  }
  return routeOptions
}

/** The reader of a body whose route was not given our `preParsing`: Fastify has parsed it, and its bytes are gone. */
export async function bytesGone(): Promise<never> {
  throw new ConfigurationError(
    'The preParsing hook of tixWebhooks did not run: pass all of its route options, as in app.post("/hooks", tixWebhooks({…})), and not in a controller. In NestJS: app.getHttpAdapter().getInstance().post("/hooks", tixWebhooks({…})).',
  )
}
