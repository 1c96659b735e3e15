import { inspect } from 'node:util'
import { type Context, Hono } from 'hono'
import { methodNotAllowed } from 'hono/method-not-allowed'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import { Refusal } from '../domain/refusal.js'
import { Random } from '../lib/random.js'
import type { RequestRecord } from '../service/request-record.js'
import type { Service } from '../service/service.js'
import { addApi } from './api.js'
import { addCheckout } from './checkout/checkout.js'
import type { App, Env, RequestContext } from './context.js'
import { addControl } from './control/control.js'
import { presentError } from './error-form.js'
import { type ErrorReport, HttpError, statusOf } from './errors.js'
import { injectFaults, type Wait, waitRealTime } from './inject-faults.js'
import { describeApi } from './openapi/openapi.js'
import { addPage } from './page.js'
import { createGuard } from './protection/guard.js'
import type { RateLimit } from './protection/rate-limit.js'
import { logRequests, RequestLog } from './request-log.js'

export interface AppOptions {
  /** The API keys that are accepted. Default: every key of the right form. */
  keys?: readonly string[] | undefined
  /** More host names to accept: `name` for any port, or `name:port`. */
  allowHosts?: readonly string[] | undefined
  /** The rate limit, to test how a client backs off. Default: none. */
  rateLimit?: RateLimit | undefined
  /** Ignores unknown query parameters. Default false: they are refused. */
  lenient?: boolean | undefined
  /** Called with warnings for people, such as that a live key was used. */
  onWarning?: ((message: string) => void) | undefined
  /** Each request to the API, when it is answered. */
  onRequest?: ((record: RequestRecord) => void) | undefined
  /** Called with unexpected errors, of which the response says nothing. Default: `onWarning` gets the stack. */
  onError?: ((error: unknown) => void) | undefined
  /** Checks the URL of an endpoint. @throws AddressRefused if nothing is sent there */
  checkUrl: (url: string) => void
  /** Resets the sandbox. */
  reset: () => void
  /** The base URL of the sandbox, such as `http://127.0.0.1:4010`. */
  url: () => string
  /** The version of the package. */
  version: string
  /** The folder that it was started in: the secrets that it knows are of the project there. */
  folder: string
  /** Real time, in milliseconds since the epoch. Default `Date.now`. */
  realNow?: (() => number) | undefined
  /** How a fault waits. Default: in real time. */
  wait?: Wait | undefined
}

/**
 * The HTTP interface of the service: its API, the description of it, the public pages, and the control of the sandbox.
 *
 * @throws TypeError that names the invalid option
 */
export function createApp(service: Service, options: AppOptions): App {
  const app: App = new Hono<Env>()
  const log = new RequestLog()
  const guard = createGuard(options)
  // A generator of its own, because the ids of the service must not depend on the number of requests.
  const random = new Random()
  const realNow = options.realNow ?? Date.now
  const onError = options.onError ?? ((error) => options.onWarning?.(`The sandbox failed. ${inspect(error)}`))
  if (options.onRequest) log.subscribe(options.onRequest)

  app.use(async (c, next) => {
    c.set('requestId', random.id('req_'))
    await next()
    c.res.headers.set('x-request-id', c.get('requestId'))
    c.res.headers.set('x-content-type-options', 'nosniff')
  })
  app.use('/v2/*', logRequests(log, service.clock))
  app.use((c, next) => {
    guard.checkHost(c.req.raw)
    return next()
  })

  app.use('/v2/*', injectFaults(service, options.wait ?? waitRealTime))
  app.use(methodNotAllowed({ app, onMethodNotAllowed: refuseMethod }))

  addApi(app, service, { ...options, realNow })
  addControl(app, { ...options, service, log, guard, realNow })
  addCheckout(app, service, guard)
  addPage(app)
  app.get('/openapi.json', (c) => c.json(describeApi(service.assumptions, options.url())))

  app.notFound((c) => answerError(c, unknownUrl(c)))
  app.onError((error, c) => {
    if (error instanceof Refusal || error instanceof HttpError) return answerError(c, error)
    onError(error)
    return answerError(c, new HttpError('internal', 'The sandbox failed: this is a fault of its own.'))
  })
  return app
}

function answerError(c: RequestContext, error: Refusal | HttpError): Response {
  c.set('error', error)
  const { status, headers } = error instanceof HttpError ? error : {}
  const written = JSON.stringify(presentError({ ...reportOf(error), status }))
  return c.body(written, (status ?? statusOf(error.code, error.param)) as ContentfulStatusCode, {
    ...headers,
    'content-type': 'application/json',
  })
}

function reportOf(error: Refusal | HttpError): ErrorReport {
  const { code, message, param } = error
  const problems = error instanceof Refusal && param !== undefined ? error.problems : undefined
  return { code, message, param, problems }
}

function unknownUrl(c: RequestContext): HttpError {
  return new HttpError(
    'unknown_url',
    `There is nothing at ${c.req.method} ${c.req.path.slice(0, 200)}. GET /openapi.json lists all requests.`,
  )
}

function refuseMethod(c: Context, methods: readonly string[]): never {
  const allow = methods.join(', ')
  throw new HttpError('method_not_allowed', `${c.req.method} is not allowed here. Allowed: ${allow}.`, {
    headers: { allow },
  })
}
