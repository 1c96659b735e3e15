import { expect } from 'vitest'
import { Refusal } from '../../domain/refusal.js'
import type { CreatedEvent, WebhookKind } from '../../domain/resources.js'
import type { Ticketing } from './ticketing.js'

/** An event in its shortest form. */
export interface ModelEvent {
  id: string
  doorsMs: number
  endsMs: number
  onSaleMs: number | undefined
  state: 'draft' | 'published' | 'cancelled' | 'past'
  tiers: { price: number; left: number }[]
  sold: number
  gross: number
}

export interface Model {
  nowMs: number
  events: ModelEvent[]
  /** The webhooks and their events, in order. */
  told: [WebhookKind, string][]
}

export interface Real {
  service: Ticketing
  created: CreatedEvent[]
}

export function statusOf({ state, tiers }: ModelEvent): string {
  if (state !== 'published') return state
  return tiers.every(({ left }) => left === 0) ? 'sold_out' : 'on_sale'
}

/** The invariant after each step: the model and the account agree in everything visible. */
export async function agree(model: Model, { service, created }: Real): Promise<void> {
  await service.clock.idle()
  live(model, model.nowMs)
  expect(service.clock.now()).toBe(model.nowMs)
  expect(service.errors).toEqual([])
  for (const [index, event] of model.events.entries()) {
    const { status, sold, capacity, gross_cents, doors_at, ends_at } = service.account.retrieveEvent(event.id)
    expect({ status, sold, gross_cents, doorsMs: Date.parse(doors_at), endsMs: Date.parse(ends_at) }).toEqual(
      {
        status: statusOf(event),
        sold: event.sold,
        gross_cents: event.gross,
        doorsMs: event.doorsMs,
        endsMs: event.endsMs,
      },
    )
    expect(sold).toBeLessThanOrEqual(capacity)
    expect(created[index]?.id).toBe(event.id)
  }
  const told = service.emitted.map(({ kind, data }) => [
    kind,
    'event' in data ? data.event.id : data.order.id,
  ])
  expect(told).toEqual(model.told)
}

/** Advances time: events go live and end, each at its own time. */
export function live(model: Model, toMs: number): void {
  const due = model.events
    .flatMap((event) => [
      { atMs: event.onSaleMs ?? Number.POSITIVE_INFINITY, event, isGoLive: true },
      { atMs: event.endsMs, event, isGoLive: false },
    ])
    .filter(({ atMs }) => atMs <= toMs)
    .sort((a, b) => a.atMs - b.atMs || Number(b.isGoLive) - Number(a.isGoLive))
  for (const { event, isGoLive } of due) {
    if (isGoLive) {
      event.onSaleMs = undefined
      if (event.state !== 'draft' || event.endsMs <= model.nowMs) continue
      event.state = 'published'
      model.told.push(['event.published', event.id])
    } else if (event.state === 'published') event.state = 'past'
  }
  model.nowMs = toMs
}

/** Makes a call that the model expects to be refused with this code, or to be accepted. */
export function attempt<Result>(call: () => Result, refusal: string | undefined): Result | undefined {
  try {
    const result = call()
    expect('accepted').toBe(refusal ?? 'accepted')
    return result
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    expect(error.code).toBe(refusal)
    return undefined
  }
}

export const refusedAsOver = ({ state }: ModelEvent): string | undefined =>
  ({ past: 'event_past', cancelled: 'event_cancelled', draft: undefined, published: undefined })[state]
