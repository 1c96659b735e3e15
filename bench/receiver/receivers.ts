import { createReceiver, type Outcome, type Receiver } from 'tix-webhooks'
import { SECRET, type SignedOrder } from './orders.js'

/** With all the defaults, its memory store among them. */
export function receiverWith(handler: () => unknown): Receiver {
  return createReceiver({ secret: SECRET, on: { 'order.created': handler } })
}

/** A handler that does nothing, and reports that go nowhere: what is refused would fill the console, and writing there is not what is measured. */
export function quietReceiver(): Receiver {
  return createReceiver({
    secret: SECRET,
    on: { 'order.created': async () => {} },
    onDelivery: () => {},
    onError: () => {},
  })
}

/** Delivers an order, and sees to it that the outcome is the one that is meant to be measured. */
export async function deliver(
  receiver: Receiver,
  { body, header }: SignedOrder,
  expected: Outcome['outcome'],
): Promise<void> {
  const { outcome } = await receiver.receive({ header, body, request: undefined })
  if (outcome !== expected) throw new Error(`A delivery that was to be ${expected} was ${outcome}`)
}
