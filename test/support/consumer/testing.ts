// The testing kit as a user writes tests with it; compiled against the packed package by test/repo/package.test.ts.
import type { Handlers, OrderCreatedEvent } from 'tix-webhooks'
import { tixWebhooks } from 'tix-webhooks/fetch'
import {
  adapterCases,
  attacks,
  callHandler,
  createTestClock,
  deliverWithRetries,
  sampleEvent,
  signedBody,
  signedDelivery,
} from 'tix-webhooks/testing'
import { knownEvents } from 'tix-webhooks/testing/fast-check'

const secret = 'whsec_test'
const on = {
  'order.created': async (event, { attempt }) => `${event.data.order.id} ${attempt}`,
  'event.*': (event) => event.type,
} satisfies Handlers<Request>

export async function tested(): Promise<readonly unknown[]> {
  const clock = createTestClock()
  const POST = tixWebhooks({ secret, on, now: clock.now })
  const delivery = await signedDelivery('order.created', {
    secret,
    now: clock.now,
    data: { order: { total_cents: 0 }, tickets: [{ tier: 'VIP' }, {}] },
  })
  const event: OrderCreatedEvent = delivery.event
  // @ts-expect-error the field is total_cents
  await signedDelivery('order.created', { secret, data: { order: { totl_cents: 0 } } })
  // @ts-expect-error the field is doors_at
  await signedDelivery('event.rescheduled', { secret, data: { event: { doors: '' } } })

  const refund = await signedDelivery('order.refunded', { secret, data: { cents: 5 } })
  const cents: number = refund.event.data.cents
  const bytes = await signedBody(new Uint8Array([1]), { secret })
  const attempts = await deliverWithRetries(({ toRequest }) => POST(toRequest('/hooks')), delivery, { clock })
  const response: Response | undefined = attempts[0]?.answer
  const told: string = await callHandler(on, 'order.created', event)
  // @ts-expect-error it is of another kind
  await callHandler(on, 'event.*', event)
  for (const { deliver } of await attacks('order.created', { secret })) {
    const answers: Response[] = await deliver((one) => POST(one.toRequest('/hooks')))
    if (answers.length === 0) return []
  }
  const init: RequestInit = delivery
  return [
    cents,
    bytes.toInject('/hooks'),
    response,
    told,
    sampleEvent('event.published'),
    init,
    adapterCases,
    knownEvents(),
  ]
}
