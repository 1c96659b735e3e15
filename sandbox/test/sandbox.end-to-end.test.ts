/** @module-tag slow */
import { memoryStore, type WebhookOptions } from 'tix-webhooks'
import { createSandbox, type Delivery, type Sandbox } from 'tix-webhooks-sandbox'
import { expect, onTestFinished, test } from 'vitest'
import { SERVERS } from '../../test/support/adapter-harnesses.js'
import { SECRET } from '../../test/support/deliveries.js'
import { type Listening, listen } from '../../test/support/http.js'

type Start = (typeof SERVERS)[number][1]

/** A receiver that can be stopped and restarted on its port, as in a deploy; its store stays. */
async function deployable(start: Start, options: WebhookOptions) {
  let listening: Listening | undefined
  const up = async (): Promise<string> => {
    listening = await listen(await start(options), listening?.port)
    return `${listening.url}/hooks`
  }
  return { url: await up(), up, down: async () => listening?.close() }
}

/** Counts how often each event was handled, and how often its handler must still fail. */
class Ledger {
  readonly done = new Map<string, number>()
  readonly failures = new Map<string, number>()

  readonly handle = (about: string): void => {
    const left = this.failures.get(about) ?? 0
    if (left > 0) {
      this.failures.set(about, left - 1)
      throw new Error('not yet')
    }
    this.done.set(about, (this.done.get(about) ?? 0) + 1)
  }
}

/** The subject of a delivery, as the ledger's handlers name it. */
function aboutOf({ message }: Delivery): string {
  const { type, created_at, data } = JSON.parse(message.body)
  return type === 'order.created' ? data.order.id : `${type} ${created_at}`
}

/** Creates an event, publishes, sells, reschedules and cancels: one message of each kind, and several of orders. */
function doBusiness({ account }: Sandbox, orders: number): void {
  const [venue] = account.listVenues().data
  const event = account.createEvent({
    title: 'Harbour Jazz',
    venue_id: venue?.id ?? '',
    doors_at: '2027-05-17T19:30:00+02:00',
    tickets: [{ name: 'general admission', price_cents: 2700, quantity: 100 }],
  })
  account.publishEvent(event.id)
  for (let order = 0; order < orders; order++) {
    account.createOrder({ event_id: event.id, ticket_tier_id: event.tickets[0].id, quantity: 2 })
  }
  account.rescheduleEvent(event.id, { doors_at: '2027-06-17T19:30:00+02:00' })
  account.cancelEvent(event.id)
}

/** The newest version of each framework: the adapters have tests of their own on the others. */
const NEWEST = SERVERS.filter(([name]) => !/^(Express|Fastify) 4/.test(name))

test.each(NEWEST)(
  'the sandbox and %s keep the guarantees over 72 hours of failures, restarts, duplicates and forgeries',
  async (_, start) => {
    const ledger = new Ledger()
    const receiver = await deployable(start, {
      secret: SECRET,
      on: {
        'order.created': (event) => ledger.handle(event.data.order.id),
        'event.*': (event) => ledger.handle(`${event.type} ${event.created_at}`),
      },
      store: memoryStore(),
      namespace: 'tickets',
      onError: () => {},
    })
    const sandbox = createSandbox({
      startAt: '2026-11-20T12:00:00Z',
      seed: 7,
      secret: SECRET,
      endpoints: [{ url: receiver.url }],
      chaos: { duplicate: 0.3, 'tampered-byte': 0.3, 'wrong-secret': 0.3, 'missing-header': 0.2 },
    })
    onTestFinished(async () => {
      await sandbox.close()
      await receiver.down()
    })
    doBusiness(sandbox, 24)
    // Two orders fail for ever, the others at most as often as the schedule has attempts.
    const orders = sandbox.deliveries.list({ type: 'order.created' }).map(aboutOf)
    orders.forEach((about, index) => {
      ledger.failures.set(about, index < 2 ? Number.POSITIVE_INFINITY : index % 7)
    })
    await sandbox.clock.advance('10m')
    await receiver.down()
    await sandbox.clock.advance('3h')
    await receiver.up()
    await sandbox.clock.advance('21h')
    await receiver.down()
    await receiver.up()
    await sandbox.clock.advance('72h')

    const deliveries = sandbox.deliveries.list()
    expect(deliveries).toHaveLength(24 + 3)
    const lost = deliveries.filter(({ status }) => status !== 'delivered').map(aboutOf)
    // G2: only events that were never handled are undelivered, and each attempt of the 11 got an error.
    expect(lost.sort()).toEqual(orders.slice(0, 2).sort())
    for (const delivery of deliveries) {
      const about = aboutOf(delivery)
      const acknowledged = delivery.attempts.filter(({ response }) => isSuccess(response?.status))
      const forged = delivery.attempts.filter(({ scenario = 'duplicate' }) => scenario !== 'duplicate')
      // G1: nothing that is forged is acknowledged.
      expect(forged.filter(({ response }) => isSuccess(response?.status))).toEqual([])
      // G2 and G3: what was acknowledged was done, once.
      expect([about, ledger.done.get(about) ?? 0]).toEqual([about, acknowledged.length > 0 ? 1 : 0])
      expect(delivery.attempts.filter(({ trigger }) => trigger === 'auto').length).toBeLessThanOrEqual(11)
    }
    expect([...ledger.done.values()].every((times) => times === 1)).toBe(true)
    // The story had all of it: failures, refused connections, duplicates and forgeries.
    const attempts = deliveries.flatMap((delivery) => delivery.attempts)
    expect(new Set(attempts.map(({ scenario }) => scenario))).toEqual(
      new Set([undefined, 'duplicate', 'tampered-byte', 'wrong-secret', 'missing-header']),
    )
    expect(attempts.some(({ error }) => error?.code === 'ECONNREFUSED')).toBe(true)
    expect(attempts.some(({ response }) => response?.status === 500)).toBe(true)

    // An event that failed for 72 hours is handled when it is resent, and only once.
    ledger.failures.clear()
    for (const delivery of deliveries.filter(({ status }) => status === 'failed')) {
      await sandbox.deliveries.resend(delivery.id)
      await sandbox.deliveries.resend(delivery.id)
      expect(sandbox.deliveries.get(delivery.id)?.status).toBe('delivered')
      expect(ledger.done.get(aboutOf(delivery))).toBe(1)
    }
  },
)

function isSuccess(status: number | undefined): boolean {
  return status !== undefined && status >= 200 && status < 300
}
