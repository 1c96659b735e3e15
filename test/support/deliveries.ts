import { type SignOptions, signPayload } from 'tix-webhooks'

/** The secret of the endpoint that the tests play. */
export const SECRET = 'whsec_test_2f7c1b'

let orders = 0

/** An `order.created` as the service documents it; each has an id of its own. */
export function orderCreated(overrides: { id?: string } = {}) {
  orders += 1
  return {
    type: 'order.created',
    created_at: '2026-05-17T14:02:11Z',
    data: {
      order: { id: overrides.id ?? `ord_${orders}`, total_cents: 5400, buyer_email: 'buyer@example.com' },
      tickets: [{ id: `tik_${orders}`, tier: 'general admission' }],
    },
  }
}

/** An event of the `event.*` family, whose data is not documented. */
export function lifecycleEvent(type: string, data: object = { event: { id: 'evt_1' } }) {
  return { type, created_at: '2026-05-17T14:02:11Z', data }
}

export interface SignedDelivery {
  readonly header: string
  readonly body: Uint8Array
}

/** Signs anything as the service would: an object as JSON, a string or bytes as they are. */
export async function sign(
  payload: object | string | Uint8Array,
  options: Partial<SignOptions> = {},
): Promise<SignedDelivery> {
  const body =
    payload instanceof Uint8Array
      ? payload
      : new TextEncoder().encode(typeof payload === 'string' ? payload : JSON.stringify(payload))
  return { header: await signPayload(body, { secret: SECRET, ...options }), body }
}
