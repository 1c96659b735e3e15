import { createReceiver, type Outcome, type Receiver } from 'tix-webhooks'
import { SECRET, type SignedOrder } from './orders.js'

/** With all the defaults, including the memory store. */
export function receiverWith(handler: () => unknown): Receiver {
  return createReceiver({ secret: SECRET, on: { 'order.created': handler } })
}

/** A handler that does nothing, and reports that are dropped: refusals would fill the console, and writing to it would be measured. */
export function quietReceiver(): Receiver {
  return createReceiver({
    secret: SECRET,
    on: { 'order.created': async () => {} },
    onDelivery: () => {},
    onError: () => {},
  })
}

/** Delivers an order, and checks that the outcome is the intended one. */
export async function deliver(
  receiver: Receiver,
  { body, header }: SignedOrder,
  expected: Outcome['outcome'],
): Promise<void> {
  const { outcome } = await receiver.receive({ header, body, request: undefined })
  if (outcome !== expected) throw new Error(`A delivery that was to be ${expected} was ${outcome}`)
}
