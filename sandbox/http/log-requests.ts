import type { MiddlewareHandler } from 'hono'
import type { VirtualClock } from '../time/clock.js'
import type { Env } from './context.js'
import type { RequestLog } from './request-log.js'

/** Writes down each request, when it is answered. */
export function logRequests(log: RequestLog, clock: VirtualClock): MiddlewareHandler<Env> {
  return async (c, next) => {
    await next()
    const { pathname, search } = new URL(c.req.url)
    const caller = c.get('caller')
    const errorCode = c.get('errorCode')
    log.add({
      id: c.get('requestId'),
      at: new Date(clock.now()).toISOString(),
      method: c.req.method,
      path: pathname + search,
      mode: caller?.mode ?? null,
      key_end: caller?.keyEnd ?? null,
      status: c.res.status,
      ...(errorCode && { error_code: errorCode }),
      ...(c.req.header('idempotency-key') !== undefined && { note: 'Idempotency-Key is ignored' }),
    })
  }
}
