import type { Service } from '../service/service.js'
import { readJson } from './body.js'
import type { App, RequestContext } from './context.js'
import { HttpError } from './errors.js'
import { OPERATIONS, type Operation } from './openapi/operations.js'
import { type AuthenticationOptions, createAuthenticator } from './protection/authentication.js'
import { createRateLimiter, type RateLimit } from './protection/rate-limit.js'
import { refuseQuery } from './query.js'

export interface ApiOptions extends AuthenticationOptions {
  /** Default: none. */
  rateLimit?: RateLimit | undefined
  /** Ignores unknown query parameters. Default false: they are refused. */
  lenient?: boolean | undefined
  /** Real time, in milliseconds. */
  realNow: () => number
}

/** Adds the API of the service, `/v2/…`: it translates, and decides nothing about ticketing. */
export function addApi(app: App, service: Service, options: ApiOptions): void {
  const { authenticate } = createAuthenticator(options)
  const takeOne = options.rateLimit && createRateLimiter(options.rateLimit, options.realNow)

  app.use('/v2/*', (c, next) => {
    takeOne?.()
    c.set('caller', authenticate(c.req.header('authorization') ?? null))
    return next()
  })
  app.use('/v2/sandbox/*', (c, next) => {
    if (c.get('caller').mode === 'live') {
      throw new HttpError(
        'test_key_required',
        'Sandbox operations are for test keys, and this is a live key. Use a key that begins with sk_test_.',
      )
    }
    return next()
  })

  for (const operation of OPERATIONS) {
    app.on(operation.method.toUpperCase(), routeOf(operation), (c) => answer(c, operation, service, options))
  }
}

async function answer(
  c: RequestContext,
  operation: Operation,
  service: Service,
  { lenient = false }: ApiOptions,
): Promise<Response> {
  const { searchParams: query } = new URL(c.req.url)
  if (operation.query === undefined && !lenient) refuseQuery(query)
  const body = operation.body && (await readJson(c.req.raw, operation.body))
  const result = operation.run(service.accounts[c.get('caller').mode], {
    id: c.req.param('id') ?? '',
    query,
    body,
  })
  return c.json(result, operation.status)
}

/** The path as the router writes it. */
function routeOf({ path }: Operation): string {
  return path.replaceAll(/\{(\w+)\}/g, ':$1')
}
