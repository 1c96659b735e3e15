/** @module-tag slow */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { runs } from '../../../test/support/runs.js'
import { Refusal } from '../../domain/refusal.js'
import type { CreatedEvent, WebhookKind } from '../../domain/resources.js'
import { HOUR_MS, type Ticketing, ticketing, tierId } from '../support/ticketing.js'

/** An event in its shortest form. */
interface ModelEvent {
  id: string
  doorsMs: number
  endsMs: number
  onSaleMs: number | undefined
  state: 'draft' | 'published' | 'cancelled' | 'past'
  tiers: { price: number; left: number }[]
  sold: number
  gross: number
}

interface Model {
  nowMs: number
  events: ModelEvent[]
  /** The webhooks and their events, in order. */
  told: [WebhookKind, string][]
}

interface Real {
  service: Ticketing
  created: CreatedEvent[]
}

type Command = fc.AsyncCommand<Model, Real>

function statusOf({ state, tiers }: ModelEvent): string {
  if (state !== 'published') return state
  return tiers.every(({ left }) => left === 0) ? 'sold_out' : 'on_sale'
}

const refusedAsOver = ({ state }: ModelEvent): string | undefined =>
  ({ past: 'event_past', cancelled: 'event_cancelled', draft: undefined, published: undefined })[state]

/** The invariant after each step: the model and the account agree in everything visible. */
async function agree(model: Model, { service, created }: Real): Promise<void> {
  await service.clock.idle()
  live(model, model.nowMs)
  expect(service.clock.now()).toBe(model.nowMs)
  expect(service.errors).toEqual([])
  for (const [index, event] of model.events.entries()) {
    const { status, sold, capacity, gross_cents, doors_at, ends_at } = service.account.retrieveEvent(event.id)
    const { gross, doorsMs, endsMs } = event
    expect([status, sold, gross_cents]).toEqual([statusOf(event), event.sold, gross])
    expect([Date.parse(doors_at), Date.parse(ends_at)]).toEqual([doorsMs, endsMs])
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
function live(model: Model, toMs: number): void {
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
function attempt<Result>(call: () => Result, refusal: string | undefined): Result | undefined {
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

function command(
  name: string,
  take: (model: Model, real: Real) => unknown,
  check = (_: Model) => true,
): Command {
  return {
    check: (model) => check(model as Model),
    async run(model, real) {
      await take(model, real)
      await agree(model, real)
    },
    toString: () => name,
  }
}

/** A command about one of the existing events. */
function ofEvent(
  name: string,
  choice: number,
  act: (event: ModelEvent, model: Model, service: Ticketing, created: CreatedEvent) => void,
): Command {
  const take = (model: Model, { service, created }: Real) => {
    const index = choice % model.events.length
    act(model.events[index] as ModelEvent, model, service, created[index] as CreatedEvent)
  }
  return command(`${name} of event ${choice}`, take, ({ events }) => events.length > 0)
}

function create(doorsIn: number, lasts: number, onSaleIn: number | undefined, quantities: readonly number[]) {
  const name = `create(in ${doorsIn / HOUR_MS} h for ${lasts / HOUR_MS} h, live in ${onSaleIn}, ${quantities})`
  return command(name, (model, real) => {
    const doorsMs = model.nowMs + doorsIn
    const endsMs = doorsMs + lasts
    const onSaleMs = onSaleIn === undefined ? undefined : model.nowMs + onSaleIn
    const tiers = quantities.map((left, index) => ({ price: 100 * index, left }))
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
    if (event === undefined) return
    expect(event.status).toBe('draft')
    real.created.push(event)
    model.events.push({ id: event.id, doorsMs, endsMs, onSaleMs, state: 'draft', tiers, sold: 0, gross: 0 })
  })
}

const publish = (choice: number) =>
  ofEvent('publish', choice, (event, model, { account }) => {
    const isOver = event.endsMs <= model.nowMs
    const refusal =
      refusedAsOver(event) ??
      (event.state === 'published' ? 'event_already_published' : isOver ? 'event_ended' : undefined)
    if (attempt(() => account.publishEvent(event.id), refusal) === undefined) return
    event.state = 'published'
    event.onSaleMs = undefined
    model.told.push(['event.published', event.id])
  })

const cancel = (choice: number) =>
  ofEvent('cancel', choice, (event, model, { account }) => {
    const refusal = event.state === 'cancelled' ? 'event_already_cancelled' : refusedAsOver(event)
    if (attempt(() => account.cancelEvent(event.id), refusal) === undefined) return
    event.state = 'cancelled'
    event.onSaleMs = undefined
    model.told.push(['event.cancelled', event.id])
  })

const reschedule = (choice: number, doorsIn: number) =>
  ofEvent(`reschedule(in ${doorsIn / HOUR_MS} h)`, choice, (event, model, { account }) => {
    const doorsMs = model.nowMs + doorsIn
    const endsMs = doorsMs + event.endsMs - event.doorsMs
    const refusal =
      refusedAsOver(event) ??
      (doorsMs === event.doorsMs
        ? 'doors_at_unchanged'
        : doorsIn <= 0
          ? 'doors_at_in_past'
          : (event.onSaleMs ?? 0) >= endsMs
            ? 'on_sale_after_end'
            : undefined)
    const given = { doors_at: new Date(doorsMs).toISOString() }
    if (attempt(() => account.rescheduleEvent(event.id, given), refusal) === undefined) return
    Object.assign(event, { doorsMs, endsMs })
    model.told.push(['event.rescheduled', event.id])
  })

const order = (choice: number, tierChoice: number, quantity: number) =>
  ofEvent(`order(${quantity} of tier ${tierChoice})`, choice, (event, model, { account }, created) => {
    const index = tierChoice % event.tiers.length
    const tier = event.tiers[index] as ModelEvent['tiers'][number]
    const isSoldOut = statusOf(event) === 'sold_out'
    const refusal =
      refusedAsOver(event) ??
      (event.state === 'draft'
        ? 'event_not_on_sale'
        : isSoldOut
          ? 'event_sold_out'
          : tier.left < quantity
            ? 'tier_sold_out'
            : undefined)
    const body = { event_id: event.id, ticket_tier_id: tierId(created, index), quantity }
    const result = attempt(() => account.createOrder(body), refusal)
    if (result === undefined) return
    expect(result.order.total_cents).toBe(quantity * tier.price)
    expect(result.tickets).toHaveLength(quantity)
    tier.left -= quantity
    event.sold += quantity
    event.gross += quantity * tier.price
    model.told.push(['order.created', result.order.id])
  })

const advance = (byMs: number) =>
  command(`advance(${byMs / HOUR_MS} h)`, async (model, { service }) => {
    await service.clock.advanceBy(byMs)
    live(model, model.nowMs + byMs)
  })

/** A restart from the state file: nothing is lost, and due work is still due. */
const restart = command('restart', (_, { service: { account } }) => {
  const snapshot: unknown = JSON.parse(JSON.stringify(account.snapshot()))
  account.restore(snapshot)
  expect(account.snapshot()).toEqual(snapshot)
})

const hours = (from: number, to: number) => fc.integer({ min: from, max: to }).map((count) => count * HOUR_MS)
const choice = fc.nat(7)
const commands = [
  fc
    .tuple(
      hours(-10, 60),
      hours(1, 10),
      fc.option(hours(-5, 60), { nil: undefined }),
      fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 1, maxLength: 3 }),
    )
    .map((args) => create(...args)),
  choice.map(publish),
  choice.map(cancel),
  fc.tuple(choice, hours(-10, 30)).map((args) => reschedule(...args)),
  fc.tuple(choice, fc.nat(2), fc.integer({ min: 1, max: 5 })).map((args) => order(...args)),
  fc.tuple(choice, fc.nat(2), fc.constant(1)).map((args) => order(...args)),
  hours(0, 40).map(advance),
  fc.constant(restart),
]

test('[S17] [S38] [S40] [S46] [N67] [N80] [N82] [N83] [N84] [N87] [N88] [N90] [N91] [N92] [N93] an account behaves as a simple model of it, and sends the same webhooks', async () => {
  await fc.assert(
    fc.asyncProperty(fc.commands(commands, { maxCommands: 40, size: 'max' }), async (script) => {
      const service = ticketing()
      const setup = () => ({
        model: { nowMs: service.clock.now(), events: [], told: [] } satisfies Model,
        real: { service, created: [] } satisfies Real,
      })
      await fc.asyncModelRun(setup, script)
    }),
    { numRuns: runs(120) },
  )
})
