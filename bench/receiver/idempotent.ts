import { Idempotency } from '@node-idempotency/core'
import { limit } from './limit.js'
import { SECRET, type SignedOrder } from './orders.js'

/** The limit, with `@node-idempotency/core` around a handler, as in its documentation. */
export function idempotentLimit(handler: () => unknown): (order: SignedOrder) => Promise<void> {
  const verify = limit(SECRET)
  const idempotency = new Idempotency(mapStorage())
  return async ({ body, header }) => {
    const event = verify(body, header) as { data: { order: { id: string } } }
    const request = {
      method: 'POST',
      path: '/hooks',
      headers: { 'idempotency-key': event.data.order.id },
      body: event,
    }
    if ((await idempotency.onRequest(request)) !== undefined) throw new Error('A new order was a duplicate')
    await handler()
    await idempotency.onResponse(request, { body: {}, additional: { status: 200 } })
  }
}

/** Its own memory storage, a separate package, is a Map that keeps everything too. */
function mapStorage(): ConstructorParameters<typeof Idempotency>[0] {
  const kept = new Map<string, { value: string; until: number }>()
  const untilOf = (ttl = Number.POSITIVE_INFINITY): number => Date.now() + ttl
  return {
    async setIfNotExists(key, value, { ttl } = {}) {
      if (kept.has(key)) return false
      kept.set(key, { value, until: untilOf(ttl) })
      return true
    },
    async set(key, value, { ttl }) {
      kept.set(key, { value, until: untilOf(ttl) })
    },
    async get(key) {
      const record = kept.get(key)
      return record !== undefined && record.until > Date.now() ? record.value : undefined
    },
  }
}
