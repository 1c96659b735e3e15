import { type CreatedEvent, createSandbox, type Sandbox } from 'tix-webhooks-sandbox'

/** The amount of data in a sandbox. */
export interface Amount {
  readonly events: number
  readonly orders: number
}

/** A sandbox with this many events and orders, all of them delivered to its only endpoint. */
export interface Filled {
  readonly sandbox: Sandbox
  readonly newest: CreatedEvent
  /** The id of an event in the middle of the list. */
  readonly middle: string
  /** The heap that all of it takes, in bytes. */
  readonly bytes: number
  readonly seconds: number
}

const NOW = '2026-11-20T12:00:00Z'

export async function fill({ events, orders }: Amount): Promise<Filled> {
  const before = heapUsed()
  const startMs = performance.now()
  const sandbox = createSandbox({
    startAt: NOW,
    seed: 1,
    secret: 'whsec_bench',
    deliver: async (request) => {
      await request.arrayBuffer()
      return new Response(null, { status: 204 })
    },
  })
  const { account } = sandbox
  const [venue] = account.listVenues().data
  const made: CreatedEvent[] = []
  for (let count = 0; count < events; count++) {
    const event = account.createEvent({
      title: `Event ${count}`,
      venue_id: venue?.id ?? '',
      doors_at: `2027-05-${String(1 + (count % 28)).padStart(2, '0')}T19:30:00+02:00`,
      tickets: [{ name: 'general admission', price_cents: 2700, quantity: 1_000_000 }],
    })
    account.publishEvent(event.id)
    made.push(event)
    if (count % 1000 === 999) await sandbox.settled()
  }
  for (let count = 0; count < orders; count++) {
    const event = made[count % made.length] as CreatedEvent
    account.createOrder({ event_id: event.id, ticket_tier_id: event.tickets[0].id, quantity: 2 })
    if (count % 1000 === 999) await sandbox.settled()
  }
  await sandbox.settled()
  return {
    sandbox,
    newest: made.at(-1) as CreatedEvent,
    middle: made[Math.floor(made.length / 2)]?.id ?? '',
    bytes: heapUsed() - before,
    seconds: (performance.now() - startMs) / 1000,
  }
}

function heapUsed(): number {
  globalThis.gc?.()
  return process.memoryUsage().heapUsed
}
