import type { VirtualClock } from '../../time/clock.js'
import { type PublicUrl, presentEvent } from '../api-objects.js'
import type { EventRecord } from '../records.js'
import type { WebhookData, WebhookKind } from '../resources.js'
import { utcText } from './moments.js'
import { nextStatus, OCCURRENCES, type Occurrence, stateRefusal } from './states.js'

/** Sends a webhook. */
export type Emit = <Kind extends WebhookKind>(kind: Kind, data: WebhookData[Kind]) => void

export interface LifecycleParts {
  readonly clock: VirtualClock
  readonly publicUrl: PublicUrl
  readonly emit: Emit
  /** Called when an event has become another. */
  readonly onChange: () => void
}

/** Moves events from state to state: on request, and by themselves in the course of virtual time. */
export class Lifecycle {
  readonly #clock: VirtualClock
  readonly #publicUrl: PublicUrl
  readonly #emit: Emit
  readonly #onChange: () => void

  constructor({ clock, publicUrl, emit, onChange }: LifecycleParts) {
    this.#clock = clock
    this.#publicUrl = publicUrl
    this.#emit = emit
    this.#onChange = onChange
  }

  /**
   * Flips a draft to `on_sale`.
   *
   * @throws Refusal if the event is not a draft, or would be over at once
   */
  publish(event: EventRecord): void {
    const status = nextStatus(event, 'publish')
    if (event.endsAt.ms <= this.#clock.now()) throw stateRefusal('event_ended', event.id)
    event.status = status
    event.onSaleAt = undefined
    this.#touch(event)
    this.arm(event)
    this.#emit('event.published', { event: presentEvent(event, this.#publicUrl) })
  }

  /**
   * Cancels an event and refunds everyone, whatever its refund policy says.
   *
   * @throws Refusal if the event is over, or already cancelled
   */
  cancel(event: EventRecord): void {
    event.status = nextStatus(event, 'cancel')
    event.onSaleAt = undefined
    for (const order of event.orders) order.refunded = true
    this.#touch(event)
    this.arm(event)
    this.#emit('event.cancelled', { event: presentEvent(event, this.#publicUrl) })
  }

  /** Gives it other dates, which have been checked. */
  reschedule(event: EventRecord, dates: Pick<EventRecord, 'doorsAt' | 'endsAt'>): void {
    const previous_attributes = { doors_at: event.doorsAt.text, ends_at: event.endsAt.text }
    event.doorsAt = dates.doorsAt
    event.endsAt = dates.endsAt
    this.#touch(event)
    this.arm(event)
    this.#emit('event.rescheduled', { event: presentEvent(event, this.#publicUrl), previous_attributes })
  }

  /** After a sale: the last ticket makes it sold out. */
  sold(event: EventRecord): void {
    this.#touch(event)
    this.#settleStock(event)
  }

  /** After an update: more capacity, or another end. */
  updated(event: EventRecord): void {
    this.#touch(event)
    this.arm(event)
    this.#settleStock(event)
    this.#settleEnd(event)
  }

  /** Makes the transitions of an event that are due: its timer may be a moment late. */
  settle(event: EventRecord): void {
    const now = this.#clock.now()
    if (event.onSaleAt !== undefined && event.onSaleAt.ms <= now) this.#goLive(event)
    this.#settleEnd(event)
  }

  /** Schedules the next automatic transition. */
  arm(event: EventRecord): void {
    this.disarm(event)
    const next = nextOf(event)
    if (next === undefined) return
    event.timer = this.#clock.at(
      next,
      () => {
        event.timer = undefined
        this.settle(event)
      },
      () => `${event.title} ${event.onSaleAt?.ms === next ? 'goes on sale' : 'ends'}`,
    )
  }

  disarm(event: EventRecord): void {
    event.timer?.cancel()
    event.timer = undefined
  }

  /** Publishes on schedule. An event that would be over already stays a draft, because `publish` refuses it too. */
  #goLive(event: EventRecord): void {
    if (event.endsAt.ms > this.#clock.now()) this.publish(event)
    else {
      event.onSaleAt = undefined
      this.arm(event)
    }
  }

  /** Changes between on sale and sold out after a sale or a change of capacity. */
  #settleStock(event: EventRecord): void {
    this.#occur(event, event.sold >= event.capacity ? 'soldOut' : 'restocked')
  }

  /** Makes it past if its end is reached. */
  #settleEnd(event: EventRecord): void {
    if (event.endsAt.ms <= this.#clock.now()) this.#occur(event, 'ended')
  }

  #occur(event: EventRecord, occurrence: Occurrence): void {
    const status = OCCURRENCES[occurrence][event.status]
    if (status === undefined) return
    event.status = status
    this.#touch(event)
    this.arm(event)
  }

  #touch(event: EventRecord): void {
    event.updatedAt = utcText(this.#clock.now())
    this.#onChange()
  }
}

/** The time of the next automatic transition: a draft goes live, a published event ends. */
function nextOf({ status, onSaleAt, endsAt }: EventRecord): number | undefined {
  if (status === 'draft') return onSaleAt?.ms
  return status === 'on_sale' || status === 'sold_out' ? endsAt.ms : undefined
}
