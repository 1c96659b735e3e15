import type { JsonObject } from 'tix-webhooks'
import { type SigningOptions, sampleEvent, signedBody } from 'tix-webhooks/testing'

/** The secret of the test endpoint. */
export const SECRET = 'whsec_test_2f7c1b'

/** An `order.created` as the service documents it; each has a new id. */
export function orderCreated({ id }: { id?: string } = {}) {
  const order = { id, total_cents: 5400, buyer_email: 'buyer@example.com' }
  return sampleEvent('order.created', { data: { order, tickets: [{ tier: 'general admission' }] } })
}

/** An event of the `event.*` family, whose data is not documented. */
export function lifecycleEvent(type: string, data: JsonObject = { event: { id: 'evt_1' } }) {
  return sampleEvent(type, { data, exact: true, at: '2026-05-17T14:02:11Z' })
}

export interface SignedDelivery {
  readonly header: string
  readonly body: Uint8Array
}

/** Signs anything as the service would: an object as JSON, a string or bytes unchanged. */
export async function sign(
  payload: object | string | Uint8Array,
  options: Partial<SigningOptions> = {},
): Promise<SignedDelivery> {
  const bytes =
    payload instanceof Uint8Array
      ? payload
      : new TextEncoder().encode(typeof payload === 'string' ? payload : JSON.stringify(payload))
  const { header, body } = await signedBody(bytes, { secret: SECRET, ...options })
  return { header, body }
}
