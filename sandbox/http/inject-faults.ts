import { setTimeout } from 'node:timers/promises'
import type { MiddlewareHandler } from 'hono'
import type { FaultHit } from '../service/api-faults.js'
import type { Service } from '../service/service.js'
import type { Env } from './context.js'
import { type ErrorCode, HttpError } from './errors.js'

/** Waits in real time: what is tested is the timeout of a client. Ends early, without an error, when the signal aborts. */
export type Wait = (ms: number, signal: AbortSignal) => Promise<void>

export const waitRealTime: Wait = async (ms, signal) => {
  await setTimeout(ms, undefined, { signal }).catch(() => {})
}

/** The codes of the API that have these statuses; from 500 on the code is `internal`. */
const CODES: Readonly<Record<number, ErrorCode>> = {
  400: 'parameter_invalid',
  401: 'api_key_invalid',
  403: 'test_key_required',
  404: 'resource_missing',
  409: 'event_not_on_sale',
  429: 'rate_limited',
}

/** The headers that these errors also have when no fault was injected. */
const HEADERS: Readonly<Record<number, Readonly<Record<string, string>>>> = {
  401: { 'www-authenticate': 'Bearer' },
  429: { 'retry-after': '1' },
}

/** Hits requests of the API with the faults that were asked for. */
export function injectFaults({ faults, closing }: Service, wait: Wait): MiddlewareHandler<Env> {
  return async (c, next) => {
    const hit = faults.hit(c.req.method, c.req.path)
    if (hit === undefined) return next()
    const { id, status, delayMs, drop } = hit.fault
    c.set('note', `fault ${id}${drop ? ': connection dropped' : ''}`)
    // The request is done before the delay: a slow service has usually acted when its client gives up.
    if (status === undefined && !drop) await next()
    if (delayMs !== undefined) {
      await wait(delayMs, AbortSignal.any([hit.removed, closing, c.req.raw.signal]))
    }
    if (drop) {
      c.set('isDropped', true)
      c.env?.drop?.()
      return c.body(null, 500)
    }
    if (status !== undefined) throw errorOf(hit, status)
  }
}

function errorOf({ fault }: FaultHit, status: number): HttpError {
  return new HttpError(
    CODES[status] ?? 'internal',
    `The sandbox was asked for this error, by the fault ${fault.id}. To list the faults: tix-webhooks faults`,
    { status, headers: HEADERS[status] ?? {} },
  )
}
