import type { Timer } from '../time/timer-queue.js'
import type { Moment } from './events/moments.js'
import type { EventStatus, RefundPolicy, VenueObject } from './resources.js'

/** An event as the account keeps it. `presentEvent` makes the API's object of it. */
export interface EventRecord {
  /** Its place in the order of creation. */
  readonly index: number
  readonly id: string
  readonly slug: string
  title: string
  status: EventStatus
  venueId: string
  doorsAt: Moment
  endsAt: Moment
  /** When it goes live by itself. */
  onSaleAt: Moment | undefined
  descriptionMd: string | null
  imageUrl: string | null
  refundPolicy: RefundPolicy
  transferable: boolean
  tiers: readonly TierRecord[]
  capacity: number
  sold: number
  grossCents: number
  readonly orders: OrderRecord[]
  readonly createdAt: string
  updatedAt: string
  /** The next transition without a caller: a draft goes live, a published event ends. */
  timer: Timer | undefined
}

export interface TierRecord {
  readonly id: string
  readonly name: string
  readonly priceCents: number
  readonly quantity: number
  sold: number
}

/** An order, without its tickets: there may be very many orders, and old tickets are rarely read. */
export interface OrderRecord {
  readonly id: string
  readonly tierId: string
  readonly quantity: number
  readonly totalCents: number
  /** The number of the order, and of its buyer. */
  readonly number: number
  refunded: boolean
}

export interface VenueRecord {
  /** Its place in the order of creation. */
  readonly index: number
  readonly id: string
  readonly venue: VenueObject
}
