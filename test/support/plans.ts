import fc from 'fast-check'
import {
  type BodyReader,
  createReceiver,
  type DeliveryRecord,
  type IdempotencyStore,
  memoryStore,
  type Outcome,
} from 'tix-webhooks'
import { type CallFate, callFates, type HandlerFate, handlerFates, play, storeBehind } from './chaos.js'
import { orderCreated, SECRET, sign } from './deliveries.js'
import { never } from './promises.js'
import { advance, sleep } from './virtual-time.js'

export const TIMEOUT_SECONDS = 10

/** One request of the plan: some time after the previous one, to one of two processes on one store. */
export interface PlannedDelivery {
  readonly after: number
  readonly process: 0 | 1
  readonly event: 0 | 1 | 2
  readonly trick: 'none' | 'forged' | 'stale' | 'slow body' | 'endless body' | 'no secret'
  /** Whether the process starts to drain just after this delivery arrived. */
  readonly drain: boolean
}

const deliveries: fc.Arbitrary<PlannedDelivery> = fc.record({
  after: fc.constantFrom(0, 0, 0, 0.5, 3, 12, 65, 200),
  process: fc.constantFrom(0, 1),
  event: fc.constantFrom(0, 1, 2),
  trick: fc.oneof(
    { weight: 8, arbitrary: fc.constant('none' as const) },
    {
      weight: 2,
      arbitrary: fc.constantFrom<PlannedDelivery['trick'][]>(
        'forged',
        'stale',
        'slow body',
        'endless body',
        'no secret',
      ),
    },
  ),
  drain: fc.oneof({ weight: 19, arbitrary: fc.constant(false) }, { weight: 1, arbitrary: fc.constant(true) }),
})

interface Plan {
  readonly deliveries: readonly PlannedDelivery[]
  readonly calls: readonly CallFate[]
  readonly runs: readonly HandlerFate[]
}

export const plans: fc.Arbitrary<Plan> = fc.record({
  deliveries: fc.array(deliveries, { minLength: 1, maxLength: 14, size: 'max' }),
  calls: fc.array(callFates, { maxLength: 40, size: 'max' }),
  runs: fc.array(handlerFates, { maxLength: 14, size: 'max' }),
})

export interface Answered {
  readonly planned: PlannedDelivery
  readonly order: string
  readonly outcome: Outcome
  readonly tookMs: number
  /** The state of the event when the answer was given. */
  readonly done: boolean
  readonly discarded: boolean
}

/** The real history, reported by the handlers and the store itself instead of the receivers. */
interface History {
  readonly answers: Answered[]
  readonly records: DeliveryRecord[]
  readonly faults: string[]
  readonly drains: Promise<void>[]
}

/** Runs a plan in virtual time, checking for violations. */
export async function live(plan: Plan): Promise<History> {
  const history: History = { answers: [], records: [], faults: [], drains: [] }
  const orders = [0, 1, 2].map((n) => orderCreated({ id: `ord_${n}` }))
  const done = new Set<string>()
  const discarded = new Set<string>()
  const recorded = new Set<string>()
  const attempts = new Set<string>()
  const authentic = new Set<string>()
  let runs = 0

  const truth = memoryStore()
  const observed: IdempotencyStore = {
    ...truth,
    claim: (request) => {
      if (!authentic.has(request.key))
        history.faults.push(`the store was asked for ${request.key} before anything proved it`)
      return truth.claim(request)
    },
    complete: async (lease, retainMs) => {
      const changed = await truth.complete(lease, retainMs)
      if (changed) recorded.add(lease.key)
      return changed
    },
  }
  const store = storeBehind(plan.calls, observed)

  async function run(id: string, key: string, attempt: number | undefined): Promise<void> {
    if (!authentic.has(key)) history.faults.push(`${id} ran before anything proved it`)
    if (recorded.has(key)) history.faults.push(`${id} ran again after its completion was recorded`)
    if (attempts.has(`${key} ${attempt}`)) history.faults.push(`${id} ran twice on one grant`)
    attempts.add(`${key} ${attempt}`)
    const fate = plan.runs[runs++] ?? { kind: 'returns', takes: 0 }
    try {
      await play(fate)
      done.add(id)
    } catch (error) {
      if (fate.kind === 'discards') discarded.add(id)
      throw error
    }
  }

  const processes = [0, 1].map(() =>
    createReceiver<PlannedDelivery>({
      secret: ({ trick }) => (trick === 'no secret' ? undefined : SECRET),
      store,
      namespace: 'test',
      timeoutSeconds: TIMEOUT_SECONDS,
      on: { 'order.created': (event, ctx) => run(event.data.order.id, String(ctx.key), ctx.attempt) },
      onDelivery: (record) => history.records.push(record),
      onError: () => {},
    }),
  )

  async function deliver(planned: PlannedDelivery): Promise<void> {
    const order = orders[planned.event] as (typeof orders)[number]
    const { id } = order.data.order
    const timestamp = Math.floor(Date.now() / 1000) - (planned.trick === 'stale' ? 301 : 0)
    const { header, body } = await sign(order, {
      timestamp,
      secret: planned.trick === 'forged' ? 'whsec_x' : SECRET,
    })
    if (planned.trick === 'none' || planned.trick === 'slow body') authentic.add(`test/order.created/${id}`)
    const receiver = processes[planned.process] as (typeof processes)[number]
    const startedAt = performance.now()
    const receiving = receiver.receive({ header, body: bodyOf(planned, body), request: planned })
    if (planned.drain) history.drains.push(receiver.drain())
    const outcome = await receiving
    history.answers.push({
      planned,
      order: id,
      outcome,
      tookMs: performance.now() - startedAt,
      done: done.has(id),
      discarded: discarded.has(id),
    })
  }

  const all = plan.deliveries.reduce<{ at: number; started: Promise<void>[] }>(
    ({ at, started }, planned) => {
      const later = at + planned.after
      return { at: later, started: [...started, sleep(later).then(() => deliver(planned))] }
    },
    { at: 0, started: [] },
  )
  // Until after the longest run, its lease and the calls that settle it.
  await advance(all.at + 2_000)
  await Promise.all(all.started)
  return history
}

function bodyOf({ trick }: PlannedDelivery, body: Uint8Array): Uint8Array | BodyReader {
  if (trick === 'slow body') return () => sleep(4).then(() => body)
  if (trick === 'endless body') return () => never()
  return body
}
