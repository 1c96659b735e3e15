import { createHash } from 'node:crypto'
import { orderCreated, type SignedDelivery, sign } from '../deliveries.js'

/** One run of the handler of an order. */
export type Deed = 'effect' | 'throw' | 'retry later' | 'discard' | 'slow effect' | 'slow throw' | 'hang'

/** The deeds of its runs, of which the last is that of all later runs too. */
export const DEEDS = {
  succeeds: ['effect'],
  'fails once': ['throw', 'effect'],
  'fails twice': ['throw', 'throw', 'effect'],
  'fails four times': ['throw', 'throw', 'throw', 'throw', 'effect'],
  'asks for a retry': ['retry later', 'retry later', 'effect'],
  'is slow': ['slow effect', 'effect'],
  'is slow and fails': ['slow throw', 'effect'],
  hangs: ['hang', 'effect'],
  'is discarded': ['throw', 'discard'],
  /** The handler throws, or the schema refuses the data, until the fix is deployed. */
  'fails until the fix': ['effect'],
  'is refused until the fix': ['effect'],
} as const satisfies Readonly<Record<string, readonly Deed[]>>

export type OrderPlan = keyof typeof DEEDS

/** Events that are no orders, so that no fix helps. */
const BODIES = {
  'has no envelope': (id: string) => Buffer.from(JSON.stringify([id])),
  'is no JSON': (id: string) => Buffer.concat([Buffer.from(`{"${id}`), Buffer.from([0, 0xff, 0xfe, 0xc0])]),
} as const

export type Plan = OrderPlan | keyof typeof BODIES

export const PLANS = [...Object.keys(DEEDS), ...Object.keys(BODIES)] as readonly Plan[]

/** The namespace of all receivers. */
export const NAMESPACE = 'proof'

/** An event of the service, as the ledger knows it. */
export interface Sent extends SignedDelivery {
  readonly plan: Plan
  readonly key: string
  /** Whether a handler ever handles it. */
  readonly isOrder: boolean
}

export async function newEvent(plan: Plan, id: string): Promise<Sent> {
  if (plan in BODIES) {
    const bytes = BODIES[plan as keyof typeof BODIES](id)
    const key = `${NAMESPACE}/sha256:${createHash('sha256').update(bytes).digest('hex')}`
    return { plan, key, isOrder: false, ...(await sign(bytes)) }
  }
  const event = orderCreated({ id })
  Object.assign(event.data.order, { plan })
  return { plan, key: keyOfOrder(id), isOrder: true, ...(await sign(event)) }
}

export function keyOfOrder(id: string): string {
  return `${NAMESPACE}/order.created/${id}`
}
