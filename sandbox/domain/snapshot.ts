import * as z from 'zod'
import { readMoment } from './events/moments.js'
import { capacityOf } from './events/tiers.js'
import { Ledger } from './orders/ledger.js'
import type { EventRecord, OrderRecord } from './records.js'
import { eventObject, ticketTier, venueObject } from './resources.js'

const count = z.int().min(0)

/** An order, as a row: there may be very many. Its id, its tier, quantity, total in cents, number, and whether it is refunded. */
const orderRow = z.tuple([
  z.string().startsWith('ord_'),
  z.string(),
  z.int().min(1),
  count,
  z.int().min(1),
  z.boolean(),
])

const eventSnapshot = z.strictObject({
  ...eventObject.omit({ url: true, capacity: true, sold: true, gross_cents: true }).shape,
  on_sale_at: z.string().nullable(),
  tickets: z.array(ticketTier).min(1),
  orders: z.array(orderRow),
})

/** The tickets of the latest orders: the id of the order, and of each ticket its id and scan token. */
const ticketRow = z.tuple([
  z.string().startsWith('ord_'),
  z.array(z.tuple([z.string().startsWith('tik_'), z.string().min(1)])),
])

/** An account as plain JSON. What follows from the rest, such as `sold`, is not in it. */
const accountSnapshot = z.strictObject({
  version: z.literal(1),
  venues: z.array(venueObject),
  events: z.array(eventSnapshot),
  // A file of an earlier version has none.
  tickets: z.array(ticketRow).default([]),
})

export type AccountSnapshot = z.infer<typeof accountSnapshot>
type EventSnapshot = AccountSnapshot['events'][number]

/** The records of an account, as plain JSON. */
export function takeSnapshot(ledger: Ledger): AccountSnapshot {
  return {
    version: 1,
    venues: [...ledger.venues].map(({ venue }) => ({ ...venue })),
    events: [...ledger.events].map(fromRecord),
    tickets: [...ledger.tickets].map(([order, tickets]) => [
      order,
      tickets.map(({ id, scanToken }) => [id, scanToken]),
    ]),
  }
}

/**
 * The same again, of which nothing is due yet.
 *
 * @throws Error that names the contradiction, or says that this is no snapshot
 */
export function readSnapshot(snapshot: unknown): Ledger {
  const result = accountSnapshot.safeParse(snapshot)
  if (!result.success) throw new Error(`This is no snapshot of an account. ${z.prettifyError(result.error)}`)
  const ledger = new Ledger()
  for (const venue of result.data.venues) {
    demand(ledger.venues.get(venue.id) === undefined, `the venue ${venue.id} is there twice`)
    ledger.addVenue(venue)
  }
  let latest = 0
  for (const event of result.data.events) {
    const record = toRecord(event, ledger.events.size)
    demand(ledger.events.get(record.id) === undefined, `the event ${record.id} is there twice`)
    demand(!ledger.bySlug.has(record.slug), `the slug ${record.slug} is there twice`)
    demand(ledger.venues.get(record.venueId) !== undefined, `the event ${record.id} is at no venue`)
    ledger.addEvent(record)
    ledger.orders += record.orders.length
    latest = record.orders.reduce((most, { number }) => Math.max(most, number), latest)
  }
  demand(latest <= ledger.orders, `there is an order ${latest} of ${ledger.orders}`)
  restoreTickets(ledger, result.data.tickets)
  return ledger
}

function restoreTickets(ledger: Ledger, rows: AccountSnapshot['tickets']): void {
  const orders = new Map([...ledger.events].flatMap(({ orders }) => orders.map((order) => [order.id, order])))
  for (const [id, tickets] of rows) {
    demand(orders.get(id)?.quantity === tickets.length, `the order ${id} has not ${tickets.length} tickets`)
    ledger.keepTickets(
      id,
      tickets.map(([ticketId, scanToken]) => ({ id: ticketId, scanToken })),
    )
  }
}

function fromRecord(event: EventRecord): EventSnapshot {
  return {
    id: event.id,
    slug: event.slug,
    title: event.title,
    status: event.status,
    venue_id: event.venueId,
    doors_at: event.doorsAt.text,
    ends_at: event.endsAt.text,
    on_sale_at: event.onSaleAt?.text ?? null,
    description_md: event.descriptionMd,
    image_url: event.imageUrl,
    refund_policy: event.refundPolicy,
    transferable: event.transferable,
    created_at: event.createdAt,
    updated_at: event.updatedAt,
    tickets: event.tiers.map(({ id, name, priceCents, quantity }) => ({
      id,
      name,
      price_cents: priceCents,
      quantity,
    })),
    orders: event.orders.map(({ id, tierId, quantity, totalCents, number, refunded }) => [
      id,
      tierId,
      quantity,
      totalCents,
      number,
      refunded,
    ]),
  }
}

function toRecord(event: EventSnapshot, index: number): EventRecord {
  const tiers = event.tickets.map(({ id, name, price_cents, quantity }) => ({
    id,
    name,
    priceCents: price_cents,
    quantity,
    sold: 0,
  }))
  const orders = event.orders.map(
    ([id, tierId, quantity, totalCents, number, refunded]): OrderRecord => ({
      id,
      tierId,
      quantity,
      totalCents,
      number,
      refunded,
    }),
  )
  const record: EventRecord = {
    index,
    id: event.id,
    slug: event.slug,
    title: event.title,
    status: event.status,
    venueId: event.venue_id,
    doorsAt: momentOf(event.doors_at, 'with offset'),
    endsAt: momentOf(event.ends_at, 'with offset'),
    onSaleAt: event.on_sale_at === null ? undefined : momentOf(event.on_sale_at, 'offset optional'),
    descriptionMd: event.description_md,
    imageUrl: event.image_url,
    refundPolicy: event.refund_policy,
    transferable: event.transferable,
    tiers,
    capacity: capacityOf(tiers),
    sold: 0,
    grossCents: 0,
    orders,
    createdAt: event.created_at,
    updatedAt: event.updated_at,
    timer: undefined,
  }
  const byId = new Map(tiers.map((tier) => [tier.id, tier]))
  for (const { tierId, quantity, totalCents } of orders) {
    const tier = byId.get(tierId)
    if (tier !== undefined) tier.sold += quantity
    record.sold += quantity
    record.grossCents += totalCents
  }
  checkRecord(record)
  return record
}

function checkRecord({
  id,
  status,
  sold,
  capacity,
  tiers,
  doorsAt,
  endsAt,
  onSaleAt,
  grossCents,
}: EventRecord): void {
  const sum = tiers.reduce((total, tier) => total + tier.sold, 0)
  demand(sum === sold, `the event ${id} has an order of no tier of its own`)
  demand(
    tiers.every((tier) => tier.sold <= tier.quantity),
    `the event ${id} has sold more than there is`,
  )
  demand(Number.isSafeInteger(grossCents), `the event ${id} took more than can be counted`)
  demand(status !== 'draft' || sold === 0, `the event ${id} is a draft and has orders`)
  demand(status !== 'on_sale' || sold < capacity, `the event ${id} is on sale and has nothing left`)
  demand(status !== 'sold_out' || sold === capacity, `the event ${id} is sold out and has tickets left`)
  demand(status === 'draft' || onSaleAt === undefined, `the event ${id} is no draft and would go live`)
  demand(doorsAt.ms < endsAt.ms, `the event ${id} ends before its doors`)
}

function momentOf(text: string, form: Parameters<typeof readMoment>[1]) {
  const moment = readMoment(text, form)
  if (typeof moment !== 'string') return moment
  throw new Error(`This is no snapshot of an account: the moment ${JSON.stringify(text)} ${moment}.`)
}

function demand(holds: boolean, otherwise: string): asserts holds {
  if (!holds) throw new Error(`This is no snapshot of an account: ${otherwise}.`)
}
