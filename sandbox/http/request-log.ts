import type { MiddlewareHandler } from 'hono'
import type { RequestRecord } from '../service/request-record.js'
import type { VirtualClock } from '../time/clock.js'
import type { Env } from './context.js'

/** How many requests are kept. */
export const KEPT_REQUESTS = 500

/** The longest path, and the longest message, that is kept. */
const MAX_CHARACTERS = 500

/** The latest requests to the API. */
export class RequestLog {
  #records: RequestRecord[] = []
  readonly #listeners = new Set<(record: RequestRecord) => void>()

  add(record: RequestRecord): void {
    const { path, errorMessage: message } = record
    const kept = {
      ...record,
      path: shown(path),
      // A message quotes what is wrong.
      ...(message !== undefined && { errorMessage: shown(message) }),
    }
    this.#records.push(kept)
    // In batches: to move the whole list at each request would cost more than the request.
    if (this.#records.length >= 2 * KEPT_REQUESTS) this.#records = this.#records.slice(-KEPT_REQUESTS)
    for (const listener of this.#listeners) listener(kept)
  }

  /** The newest first. */
  latest(limit: number): readonly RequestRecord[] {
    return this.#records.slice(-Math.min(limit, KEPT_REQUESTS)).reverse()
  }

  clear(): void {
    this.#records = []
  }

  /** Calls back on each request. Returns a function that ends this. */
  subscribe(listener: (record: RequestRecord) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }
}

/** A key; only how one begins, and the quotation mark behind one, are no part of it. */
const KEY = /sk_(test|live)_(?!\.?(?:\s|$))(?:[^&/?#\s"…]|"(?=[^\s.]))+/gi

/** The start of the path, without an API key that a client put there. */
function shown(text: string): string {
  return text.replaceAll(KEY, 'sk_$1_…').slice(0, MAX_CHARACTERS)
}

/** Writes down each request, when it is answered. */
export function logRequests(log: RequestLog, clock: VirtualClock): MiddlewareHandler<Env> {
  return async (c, next) => {
    await next()
    const { pathname, search } = new URL(c.req.url)
    const caller = c.get('caller')
    const error = c.get('error')
    const notes = [
      ...(c.get('note') === undefined ? [] : [c.get('note')]),
      ...(c.req.header('idempotency-key') === undefined ? [] : ['Idempotency-Key is ignored']),
    ]
    log.add({
      id: c.get('requestId'),
      at: new Date(clock.now()).toISOString(),
      method: c.req.method,
      path: pathname + search,
      mode: caller?.mode ?? null,
      keyEnd: caller?.keyEnd ?? null,
      status: c.get('isDropped') ? 0 : c.res.status,
      ...(error && { errorCode: error.code, errorMessage: error.message }),
      ...(notes.length > 0 && { note: notes.join(', ') }),
    })
  }
}
