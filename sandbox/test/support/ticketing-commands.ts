import type fc from 'fast-check'
import { expect } from 'vitest'
import type { CreatedEvent } from '../../domain/resources.js'
import { HOUR_MS, type Ticketing, tierId } from './ticketing.js'
import {
  agree,
  attempt,
  live,
  type Model,
  type ModelEvent,
  type Real,
  refusedAsOver,
  statusOf,
} from './ticketing-model.js'

type Command = fc.AsyncCommand<Model, Real>

export class Create implements Command {
  readonly #doorsIn: number
  readonly #lasts: number
  readonly #onSaleIn: number | undefined
  readonly #quantities: readonly number[]

  constructor(doorsIn: number, lasts: number, onSaleIn: number | undefined, quantities: readonly number[]) {
    this.#doorsIn = doorsIn
    this.#lasts = lasts
    this.#onSaleIn = onSaleIn
    this.#quantities = quantities
  }

  check = () => true

  async run(model: Model, real: Real) {
    const doorsMs = model.nowMs + this.#doorsIn
    const endsMs = doorsMs + this.#lasts
    const onSaleMs = this.#onSaleIn === undefined ? undefined : model.nowMs + this.#onSaleIn
    const tiers = this.#quantities.map((left, index) => ({ price: 100 * index, left }))
    const given = {
      doors_at: new Date(doorsMs).toISOString(),
      ends_at: new Date(endsMs).toISOString(),
      ...(onSaleMs !== undefined && { on_sale_at: new Date(onSaleMs).toISOString() }),
      tickets: tiers.map(({ price, left }, index) => ({
        name: `T${index}`,
        price_cents: price,
        quantity: left,
      })),
    }
    const refusal = onSaleMs !== undefined && onSaleMs >= endsMs ? 'on_sale_after_end' : undefined
    const event = attempt(() => real.service.create(given), refusal)
    if (event !== undefined) {
      expect(event.status).toBe('draft')
      real.created.push(event)
      model.events.push({ id: event.id, doorsMs, endsMs, onSaleMs, state: 'draft', tiers, sold: 0, gross: 0 })
    }
    await agree(model, real)
  }

  toString = () =>
    `create(in ${this.#doorsIn / HOUR_MS} h for ${this.#lasts / HOUR_MS} h, live in ${String(this.#onSaleIn && this.#onSaleIn / HOUR_MS)} h, ${this.#quantities})`
}

/** A command about one of the existing events. */
abstract class OfEvent implements Command {
  readonly #choice: number

  constructor(choice: number) {
    this.#choice = choice
  }

  check = ({ events }: Readonly<Model>) => events.length > 0

  async run(model: Model, real: Real) {
    const index = this.#choice % model.events.length
    const [event, created] = [model.events[index], real.created[index]]
    if (event === undefined || created === undefined) throw new Error('The event is gone.')
    this.act(event, created, model, real.service)
    await agree(model, real)
  }

  abstract act(event: ModelEvent, created: CreatedEvent, model: Model, service: Ticketing): void

  toString() {
    return `${this.constructor.name}(${this.#choice}, ${JSON.stringify(this)})`
  }
}

export class Publish extends OfEvent {
  act(event: ModelEvent, { id }: CreatedEvent, model: Model, { account }: Ticketing) {
    const isOver = event.endsMs <= model.nowMs
    const refusal =
      refusedAsOver(event) ??
      (event.state === 'published' ? 'event_already_published' : isOver ? 'event_ended' : undefined)
    if (attempt(() => account.publishEvent(id), refusal) === undefined) return
    event.state = 'published'
    event.onSaleMs = undefined
    model.told.push(['event.published', id])
  }
}

export class Cancel extends OfEvent {
  act(event: ModelEvent, { id }: CreatedEvent, model: Model, { account }: Ticketing) {
    const refusal = event.state === 'cancelled' ? 'event_already_cancelled' : refusedAsOver(event)
    if (attempt(() => account.cancelEvent(id), refusal) === undefined) return
    event.state = 'cancelled'
    event.onSaleMs = undefined
    model.told.push(['event.cancelled', id])
  }
}

export class Reschedule extends OfEvent {
  readonly doorsIn: number

  constructor(choice: number, doorsIn: number) {
    super(choice)
    this.doorsIn = doorsIn
  }

  act(event: ModelEvent, { id }: CreatedEvent, model: Model, { account }: Ticketing) {
    const doorsMs = model.nowMs + this.doorsIn
    const endsMs = doorsMs + event.endsMs - event.doorsMs
    const refusal =
      refusedAsOver(event) ??
      (doorsMs === event.doorsMs
        ? 'doors_at_unchanged'
        : this.doorsIn <= 0
          ? 'doors_at_in_past'
          : (event.onSaleMs ?? 0) >= endsMs
            ? 'on_sale_after_end'
            : undefined)
    const given = { doors_at: new Date(doorsMs).toISOString() }
    if (attempt(() => account.rescheduleEvent(id, given), refusal) === undefined) return
    Object.assign(event, { doorsMs, endsMs })
    model.told.push(['event.rescheduled', id])
  }
}

export class Order extends OfEvent {
  readonly tier: number
  readonly quantity: number

  constructor(choice: number, tier: number, quantity: number) {
    super(choice)
    this.tier = tier
    this.quantity = quantity
  }

  act(event: ModelEvent, created: CreatedEvent, model: Model, { account }: Ticketing) {
    const index = this.tier % event.tiers.length
    const tier = event.tiers[index]
    if (tier === undefined) throw new Error('The tier is gone.')
    const refusal =
      refusedAsOver(event) ??
      (event.state === 'draft'
        ? 'event_not_on_sale'
        : statusOf(event) === 'sold_out'
          ? 'event_sold_out'
          : tier.left < this.quantity
            ? 'tier_sold_out'
            : undefined)
    const body = { event_id: created.id, ticket_tier_id: tierId(created, index), quantity: this.quantity }
    const result = attempt(() => account.createOrder(body), refusal)
    if (result === undefined) return
    expect(result.order.total_cents).toBe(this.quantity * tier.price)
    expect(result.tickets).toHaveLength(this.quantity)
    tier.left -= this.quantity
    event.sold += this.quantity
    event.gross += this.quantity * tier.price
    model.told.push(['order.created', result.order.id])
  }
}

export class Advance implements Command {
  readonly #byMs: number

  constructor(byMs: number) {
    this.#byMs = byMs
  }

  check = () => true

  async run(model: Model, real: Real) {
    await real.service.clock.advanceBy(this.#byMs)
    live(model, model.nowMs + this.#byMs)
    await agree(model, real)
  }

  toString = () => `advance(${this.#byMs / HOUR_MS} h)`
}

/** A restart from the state file: nothing is lost, and due work is still due. */
export class Restart implements Command {
  check = () => true

  async run(model: Model, real: Real) {
    const { account } = real.service
    const snapshot: unknown = JSON.parse(JSON.stringify(account.snapshot()))
    account.restore(snapshot)
    expect(account.snapshot()).toEqual(snapshot)
    await agree(model, real)
  }

  toString = () => 'restart()'
}
