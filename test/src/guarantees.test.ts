import fc from 'fast-check'
import {
  answerTo,
  type BodyReader,
  createReceiver,
  type DeliveryRecord,
  type IdempotencyStore,
  memoryStore,
  type Outcome,
} from 'tix-webhooks'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import {
  type CallFate,
  callFates,
  type HandlerFate,
  handlerFates,
  play,
  storeBehind,
} from '../support/chaos.js'
import { orderCreated, SECRET, sign } from '../support/deliveries.js'
import { pass } from '../support/virtual-time.js'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

const TIMEOUT_SECONDS = 10

/** One request of the plan: some time after the one before it, to one of two processes on one store. */
interface PlannedDelivery {
  readonly after: number
  readonly process: 0 | 1
  readonly event: 0 | 1 | 2
  readonly trick: 'none' | 'forged' | 'stale' | 'slow body' | 'endless body' | 'no secret'
  /** Whether the process starts to drain just after this delivery came in. */
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

const plans: fc.Arbitrary<Plan> = fc.record({
  deliveries: fc.array(deliveries, { minLength: 1, maxLength: 14, size: 'max' }),
  calls: fc.array(callFates, { maxLength: 40, size: 'max' }),
  runs: fc.array(handlerFates, { maxLength: 14, size: 'max' }),
})

interface Answered {
  readonly planned: PlannedDelivery
  readonly order: string
  readonly outcome: Outcome
  readonly tookMs: number
  /** What had happened to the event when the answer was given. */
  readonly done: boolean
  readonly discarded: boolean
}

/** What really happened, told by the handlers and by the store itself rather than by the receivers. */
interface History {
  readonly answers: Answered[]
  readonly records: DeliveryRecord[]
  readonly faults: string[]
  readonly drains: Promise<void>[]
}

/** Lives through a plan in virtual time, watching for what must never happen. */
async function live(plan: Plan): Promise<History> {
  const history: History = { answers: [], records: [], faults: [], drains: [] }
  const orders = [0, 1, 2].map((n) => orderCreated({ id: `ord_${n}` }))
  const done = new Set<string>()
  const discarded = new Set<string>()
  const recorded = new Set<string>()
  const attempts = new Set<string>()
  const authentic = new Set<string>()
  let runs = 0

  const truth = memoryStore()
  const watched: IdempotencyStore = {
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
  const store = storeBehind(plan.calls, watched)

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
      return { at: later, started: [...started, pass(later).then(() => deliver(planned))] }
    },
    { at: 0, started: [] },
  )
  // Until after the longest run, its lease and the calls that settle it.
  await vi.advanceTimersByTimeAsync((all.at + 2_000) * 1000)
  await Promise.all(all.started)
  return history
}

function bodyOf({ trick }: PlannedDelivery, body: Uint8Array): Uint8Array | BodyReader {
  if (trick === 'slow body') return () => pass(4).then(() => body)
  if (trick === 'endless body') return () => new Promise(() => {})
  return body
}

const PROVEN_WRONG: Partial<Record<PlannedDelivery['trick'], readonly string[]>> = {
  forged: ['unauthenticated', 'unavailable'],
  stale: ['unauthenticated', 'unavailable'],
  'endless body': ['incomplete', 'unavailable'],
  'no secret': ['misconfigured', 'unavailable'],
}

test('G1, G2, G3, G5 hold for any schedule of deliveries, failures, slow handlers, drains and store errors', async () => {
  await fc.assert(
    fc.asyncProperty(plans, async (plan) => {
      const { answers, records, faults, drains } = await live(plan)

      // G1 and G3, as the handlers and the store saw it.
      expect(faults).toEqual([])

      // G5: an answer to each, in time, and one record of each.
      expect(answers).toHaveLength(plan.deliveries.length)
      for (const { tookMs } of answers) expect(tookMs).toBeLessThanOrEqual(TIMEOUT_SECONDS * 1000)
      expect(records.map(({ outcome }) => outcome).sort()).toEqual(
        answers.map(({ outcome }) => outcome.outcome).sort(),
      )
      await Promise.all(drains)

      for (const { planned, outcome, done, discarded } of answers) {
        const { status } = answerTo(outcome)
        const refusals = PROVEN_WRONG[planned.trick]
        // G1: what is not proven is never acknowledged.
        if (refusals !== undefined) expect(refusals).toContain(outcome.outcome)
        // G2: what is acknowledged is done, and what is proven is never refused for good.
        if (outcome.outcome === 'handled') expect(done).toBe(true)
        if (outcome.outcome === 'discarded') expect(discarded).toBe(true)
        if (outcome.outcome === 'duplicate') expect(done || discarded).toBe(true)
        if (refusals === undefined) expect([200, 500, 503]).toContain(status)
      }
    }),
    { numRuns: 400 },
  )
})

test('a sender that keeps coming is answered 200 in the end, whatever happened before, and exactly one run was recorded', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(callFates, { maxLength: 12, size: 'max' }),
      fc.array(handlerFates, { maxLength: 6, size: 'max' }),
      async (calls, runs) => {
        // The sender of the plan retries for longer than any lease and any given-up run can last.
        const retries = Array.from(
          { length: 30 },
          () => ({ after: 500, process: 0, event: 0, trick: 'none', drain: false }) as const,
        )
        const { answers } = await live({ deliveries: retries, calls, runs })
        expect(answerTo((answers.at(-1) as Answered).outcome).status).toBe(200)
      },
    ),
    { numRuns: 150 },
  )
})

test('G3: however the calls of concurrent deliveries interleave, one handler runs at a time and one succeeds', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.scheduler(),
      fc.integer({ min: 2, max: 5 }),
      fc.array(fc.boolean(), { maxLength: 4 }),
      async (scheduler, senders, failures) => {
        const truth = memoryStore()
        /** Both the way to the store and the way back are the scheduler's to order. */
        const scheduled = <T>(name: string, call: () => Promise<T>): Promise<T> =>
          scheduler
            .schedule(Promise.resolve(), `${name} arrives`)
            .then(call)
            .then((result) => scheduler.schedule(Promise.resolve(result), `${name} replies`))
        const store: IdempotencyStore = {
          claim: (request) => scheduled('claim', () => truth.claim(request)),
          renew: (lease, leaseMs) => scheduled('renew', () => truth.renew(lease, leaseMs)),
          complete: (lease, retainMs) => scheduled('complete', () => truth.complete(lease, retainMs)),
          release: (lease) => scheduled('release', () => truth.release(lease)),
        }
        let running = 0
        let runs = 0
        let succeeded = 0
        const handler = async (): Promise<void> => {
          const fails = failures[runs++] ?? false
          running += 1
          expect(running).toBe(1)
          await scheduler.schedule(Promise.resolve(), 'the handler works')
          running -= 1
          if (fails) throw new Error('not this time')
          succeeded += 1
        }
        const receivers = [0, 1].map(() =>
          createReceiver({
            secret: SECRET,
            store,
            namespace: 'test',
            on: { 'order.created': handler },
            onError: () => {},
          }),
        )
        const delivery = { ...(await sign(orderCreated({ id: 'ord_1' }))), request: null }
        const deliverUntilDone = async (sender: number): Promise<string[]> => {
          const receiver = receivers[sender % 2] as (typeof receivers)[number]
          const { outcome } = await receiver.receive(delivery)
          return ['handled', 'duplicate'].includes(outcome)
            ? [outcome]
            : [outcome, ...(await deliverUntilDone(sender))]
        }
        const all = Promise.all(Array.from({ length: senders }, (_, sender) => deliverUntilDone(sender)))
        const outcomes = (await scheduler.waitFor(all)).flat()
        expect(succeeded).toBe(1)
        expect(outcomes.filter((outcome) => outcome === 'handled')).toHaveLength(1)
        expect(outcomes.filter((outcome) => outcome === 'failed')).toHaveLength(runs - 1)
      },
    ),
    { numRuns: 300 },
  )
})
