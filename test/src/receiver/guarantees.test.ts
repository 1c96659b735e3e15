/** @module-tag slow */
import fc from 'fast-check'
import {
  answerTo,
  type BodyReader,
  createReceiver,
  type DeliveryRecord,
  type EventRecord,
  type HandlerContext,
  type LedgerStore,
  memoryStore,
  type Outcome,
  type WebhookOptions,
} from 'tix-webhooks'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import {
  type CallFate,
  callFates,
  type HandlerFate,
  handlerFates,
  play,
  storeBehind,
  transactionFates,
} from '../../support/chaos.js'
import { orderCreated, SECRET, sign } from '../../support/deliveries.js'
import { honestInbox, type Ledger, type TransactionFate } from '../../support/honest-inbox.js'
import { never } from '../../support/promises.js'
import { advance, sleep } from '../../support/virtual-time.js'

const TIMEOUT_SECONDS = 10

/** One request of the plan: some time after the previous one, to one of two processes on one backend. */
interface PlannedDelivery {
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

/** The outcomes of what is not proven to be the service's. */
const PROVEN_WRONG: Partial<Record<PlannedDelivery['trick'], readonly string[]>> = {
  forged: ['unauthenticated', 'unavailable'],
  stale: ['unauthenticated', 'unavailable'],
  'endless body': ['incomplete', 'unavailable'],
  'no secret': ['misconfigured', 'unavailable'],
}

interface Plan {
  readonly deliveries: readonly PlannedDelivery[]
  readonly runs: readonly HandlerFate[]
}

interface StorePlan extends Plan {
  readonly calls: readonly CallFate[]
  readonly parkAfter?: { readonly attempts: number } | undefined
}

interface InboxPlan extends Plan {
  readonly transactions: readonly TransactionFate[]
  /** Whether a second delivery of an event is refused while the first one runs, or only one of them commits. */
  readonly locks: boolean
}

const plan = {
  deliveries: fc.array(deliveries, { minLength: 1, maxLength: 14, size: 'max' }),
  runs: fc.array(handlerFates, { maxLength: 14, size: 'max' }),
}

const plans: fc.Arbitrary<StorePlan> = fc.record({
  ...plan,
  calls: fc.array(callFates, { maxLength: 40, size: 'max' }),
  parkAfter: fc.option(fc.record({ attempts: fc.integer({ min: 1, max: 3 }) }), { nil: undefined }),
})

const inboxPlans: fc.Arbitrary<InboxPlan> = fc.record({
  ...plan,
  transactions: fc.array(transactionFates, { maxLength: 14, size: 'max' }),
  locks: fc.boolean(),
})

interface Answered {
  readonly planned: PlannedDelivery
  readonly outcome: Outcome
  readonly tookMs: number
}

const EVENTS = [0, 1, 2].map((n) => orderCreated({ id: `ord_${n}` }))
const keyOf = (id: string): string => `test/order.created/${id}`

/** The real history, reported by the handlers and the backend instead of the receivers. */
interface Played<Tx, State> {
  readonly guard: Partial<WebhookOptions<PlannedDelivery, Tx>>
  /** The keys of deliveries that are the service's. */
  readonly authentic: Set<string>
  /** A run of the handler, which ends so. */
  run(id: string, ctx: HandlerContext<PlannedDelivery, Tx>, fate: HandlerFate): Promise<void>
  /** The state of an event, as it is when its answer is given. */
  stateOf(id: string): State | Promise<State>
}

/** Plays a plan in virtual time. */
async function playPlan<Tx, State>(
  { deliveries, runs }: Plan,
  { guard, authentic, run, stateOf }: Played<Tx, State>,
) {
  const answers: (Answered & State)[] = []
  const records: DeliveryRecord[] = []
  const drains: Promise<void>[] = []
  const lost: string[] = []
  let count = 0

  const options = {
    secret: ({ trick }: PlannedDelivery) => (trick === 'no secret' ? undefined : SECRET),
    ...guard,
    namespace: 'test',
    timeoutSeconds: TIMEOUT_SECONDS,
    on: {
      'order.created': (
        event: { data: { order: { id: string } } },
        ctx: HandlerContext<PlannedDelivery, Tx>,
      ) => run(event.data.order.id, ctx, runs[count++] ?? { kind: 'returns', takes: 0 }),
    },
    onDelivery: (record: DeliveryRecord) => records.push(record),
    onError: (error: unknown) => lost.push((error as Error).message),
  }
  const processes = [0, 1].map(() => createReceiver<PlannedDelivery, Tx>(options as never))

  async function deliver(planned: PlannedDelivery): Promise<void> {
    const order = EVENTS[planned.event] as (typeof EVENTS)[number]
    const { id } = order.data.order
    const timestamp = Math.floor(Date.now() / 1000) - (planned.trick === 'stale' ? 301 : 0)
    const { header, body } = await sign(order, {
      timestamp,
      secret: planned.trick === 'forged' ? 'whsec_x' : SECRET,
    })
    if (planned.trick === 'none' || planned.trick === 'slow body') authentic.add(keyOf(id))
    const receiver = processes[planned.process] as (typeof processes)[number]
    const startedAt = performance.now()
    const receiving = receiver.receive({ header, body: bodyOf(planned, body), request: planned })
    if (planned.drain) drains.push(receiver.drain())
    const outcome = await receiving
    const tookMs = performance.now() - startedAt
    answers.push({ planned, outcome, tookMs, ...(await stateOf(id)) })
  }

  let at = 0
  const started = deliveries.map((planned) => {
    at += planned.after
    return sleep(at).then(() => deliver(planned))
  })
  // Until after the longest run, its lease or commit, and the calls that settle it.
  await advance(at + 2_000)
  await Promise.all(started)
  await Promise.all([...drains, ...processes.map((receiver) => receiver.drain())])

  // G5: an answer to each, in time, and one record of each.
  expect(answers).toHaveLength(deliveries.length)
  for (const { tookMs } of answers) expect(tookMs).toBeLessThanOrEqual(TIMEOUT_SECONDS * 1000)
  expect(records.map(({ outcome }) => outcome).sort()).toEqual(
    answers.map(({ outcome }) => outcome.outcome).sort(),
  )
  for (const { planned, outcome } of answers) {
    const refusals = PROVEN_WRONG[planned.trick]
    // G1: an unproven delivery is never acknowledged. G2: a proven one is never refused for good.
    if (refusals !== undefined) expect(refusals).toContain(outcome.outcome)
    else expect([200, 500, 503]).toContain(answerTo(outcome).status)
  }
  return { answers, lost }
}

/** Runs a plan with a store, checking for violations. */
async function live(plan: StorePlan) {
  const faults: string[] = []
  const done = new Set<string>()
  const discarded = new Set<string>()
  const recorded = new Set<string>()
  const attempts = new Set<string>()
  const authentic = new Set<string>()

  const truth = memoryStore()
  const observed: LedgerStore = {
    ...truth,
    claim: (request) => {
      if (!authentic.has(request.key))
        faults.push(`the store was asked for ${request.key} before anything proved it`)
      return truth.claim(request)
    },
    complete: async (lease, retainMs, discarded) => {
      const changed = await truth.complete(lease, retainMs, discarded)
      if (changed) recorded.add(lease.key)
      return changed
    },
  }

  const { answers, lost } = await playPlan<undefined, StoreState>(plan, {
    guard: { store: storeBehind(plan.calls, observed), parkAfter: plan.parkAfter },
    authentic,
    async run(id, ctx, fate) {
      const key = String(ctx.key)
      if (!authentic.has(key)) faults.push(`${id} ran before anything proved it`)
      if (recorded.has(key)) faults.push(`${id} ran again after its completion was recorded`)
      if (attempts.has(`${key} ${ctx.attempt}`)) faults.push(`${id} ran twice on one grant`)
      attempts.add(`${key} ${ctx.attempt}`)
      try {
        await play(fate)
        done.add(id)
      } catch (error) {
        if (fate.kind === 'discards') discarded.add(id)
        throw error
      }
    },
    stateOf: async (id) => ({
      done: done.has(id),
      discarded: discarded.has(id),
      kept: await truth.ledger.get(keyOf(id)),
    }),
  })
  for (const { planned, outcome } of answers) {
    if (outcome.outcome !== 'failed' && outcome.outcome !== 'retry_later') continue
    const key = keyOf(`ord_${planned.event}`)
    const { state, rawBody } = (await truth.ledger.get(key)) ?? {}
    const isKept = (state === 'handled' || state === 'discarded') === (rawBody === undefined)
    if (!isKept && !lost.some((message) => message.startsWith(`The failure of ${key} could not be kept`)))
      faults.push(`${key} failed, and is ${state} without its bytes`)
  }
  return { answers, faults }
}

interface StoreState {
  readonly done: boolean
  readonly discarded: boolean
  readonly kept: EventRecord | undefined
}

/** Runs a plan with an inbox, checking for violations. */
async function liveWithInbox(plan: InboxPlan) {
  const faults: string[] = []
  const authentic = new Set<string>()
  const running = new Map<string, symbol>()
  const database = honestInbox({ fates: plan.transactions, locks: plan.locks })
  const stateOf = (id: string) => ({
    effects: database.effects.filter((effect) => effect === id).length,
    record: database.records.get(keyOf(id)),
  })

  const { answers } = await playPlan<Ledger, ReturnType<typeof stateOf>>(plan, {
    guard: {
      inbox: {
        once(request, work) {
          if (!authentic.has(String(request.key)))
            faults.push(`the inbox was asked for ${request.key} unproven`)
          return database.inbox.once(request, work)
        },
      },
    },
    authentic,
    async run(id, { tx, signal }, fate) {
      if (plan.locks && running.has(id)) faults.push(`two handlers of ${id} ran at once`)
      const mine = Symbol('run')
      running.set(id, mine)
      const leave = (): void => {
        if (running.get(id) === mine) running.delete(id)
      }
      // Its place is free when its transaction is over, though it may go on.
      signal.addEventListener('abort', leave)
      try {
        tx.write(id)
        await play(fate)
      } finally {
        leave()
      }
    },
    stateOf,
  })
  return {
    answers,
    faults,
    /** For each event: its committed effects in the end, and whether it has a record. */
    kept: EVENTS.map(({ data }) => stateOf(data.order.id)),
    /** Transactions whose work has not ended, although their runs must have been given up by now. */
    open: database.open,
  }
}

function bodyOf({ trick }: PlannedDelivery, body: Uint8Array): Uint8Array | BodyReader {
  if (trick === 'slow body') return () => sleep(4).then(() => body)
  if (trick === 'endless body') return () => never()
  return body
}

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

test('G1, G2, G3, G5 hold for any schedule of deliveries, failures, slow handlers, drains and store errors', async () => {
  await fc.assert(
    fc.asyncProperty(plans, async (plan) => {
      const { answers, faults } = await live(plan)

      // G1 and G3, as seen by the handlers and the store.
      expect(faults).toEqual([])

      // G2: an acknowledged event is done.
      for (const { outcome, done, discarded, kept } of answers) {
        if (outcome.outcome === 'handled') expect(done).toBe(true)
        if (outcome.outcome === 'discarded') expect(discarded).toBe(true)
        if (outcome.outcome === 'duplicate') expect(done || discarded).toBe(true)
        if (outcome.outcome === 'parked' && !done && !discarded)
          expect(kept).toMatchObject({ state: 'parked', rawBody: expect.any(Uint8Array) })
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
        // The plan's sender retries for longer than any lease and any given-up run can last.
        const retries = Array.from(
          { length: 30 },
          () => ({ after: 500, process: 0, event: 0, trick: 'none', drain: false }) as const,
        )
        const { answers } = await live({ deliveries: retries, calls, runs })
        expect(answerTo(answers.at(-1)?.outcome as Outcome).status).toBe(200)
      },
    ),
    { numRuns: 150 },
  )
})

test('G1, G2, G4, G5 hold for any schedule of deliveries, slow and failing handlers, and lost transactions', async () => {
  await fc.assert(
    fc.asyncProperty(inboxPlans, async (plan) => {
      const { answers, faults, kept, open } = await liveWithInbox(plan)

      // G1: the inbox saw nothing unproven; and two handlers overlapped only if the database has no locks.
      expect(faults).toEqual([])

      // G4: an effect at most once, and never without its record.
      for (const { effects, record } of kept) expect(effects).toBe(record === 'handled' ? 1 : 0)

      // G2: an acknowledged event had been committed by then.
      for (const { outcome, effects, record } of answers) {
        if (outcome.outcome === 'handled')
          expect({ effects, record }).toEqual({ effects: 1, record: 'handled' })
        if (outcome.outcome === 'discarded')
          expect({ effects, record }).toEqual({ effects: 0, record: 'discarded' })
        if (outcome.outcome === 'duplicate') expect(record).toBeDefined()
      }

      // No transaction stays open without a delivery.
      expect(open).toBe(0)
      vi.clearAllTimers()
    }),
    { numRuns: 500 },
  )
})

test('a sender that keeps coming is answered 200 in the end, and there is one effect, or a discard', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(transactionFates, { maxLength: 8, size: 'max' }),
      fc.array(handlerFates, { maxLength: 6, size: 'max' }),
      fc.boolean(),
      async (transactions, runs, locks) => {
        // The plan's sender retries for longer than any transaction can last.
        const deliveries = Array.from(
          { length: 24 },
          () => ({ after: 500, process: 0, event: 0, trick: 'none', drain: false }) as const,
        )
        const { answers, kept } = await liveWithInbox({ deliveries, transactions, runs, locks })
        expect(answerTo(answers.at(-1)?.outcome as Outcome).status).toBe(200)
        expect(kept[0]).toEqual(
          kept[0]?.record === 'discarded'
            ? { effects: 0, record: 'discarded' }
            : { effects: 1, record: 'handled' },
        )
        vi.clearAllTimers()
      },
    ),
    { numRuns: 100 },
  )
})
