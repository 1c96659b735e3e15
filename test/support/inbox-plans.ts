import fc from 'fast-check'
import { createReceiver, type DeliveryRecord, type Outcome } from 'tix-webhooks'
import { type HandlerFate, handlerFates, play } from './chaos.js'
import { orderCreated, SECRET, sign } from './deliveries.js'
import { honestInbox, type Ledger, type TransactionFate } from './honest-inbox.js'
import { advance, sleep } from './virtual-time.js'

export const TIMEOUT_SECONDS = 10

/** One request of the plan: some time after the previous one, to one of two processes on one database. */
interface PlannedDelivery {
  readonly after: number
  readonly process: 0 | 1
  readonly event: 0 | 1 | 2
  readonly isForged: boolean
}

interface InboxPlan {
  readonly deliveries: readonly PlannedDelivery[]
  readonly transactions: readonly TransactionFate[]
  readonly runs: readonly HandlerFate[]
  /** Whether a second delivery of an event is refused while the first one runs, or only one of them commits. */
  readonly locks: boolean
}

const often = <T>(usual: T, ...others: T[]): fc.Arbitrary<T> =>
  fc.oneof({ weight: 6, arbitrary: fc.constant(usual) }, { weight: 4, arbitrary: fc.constantFrom(...others) })

export const transactionFates: fc.Arbitrary<TransactionFate> = fc.record({
  opening: often<TransactionFate['opening']>('ok', 'refused', 'hangs'),
  commit: often<TransactionFate['commit']>('ok', 'refused', 'lost reply', 'hangs', 'made and hangs'),
  // 10 is the deadline itself.
  opensAfter: often(0, 0.1, 1, 9.999, 10, 12),
  commitTakes: often(0, 0.1, 1, 9.999, 10, 40),
})

export const inboxPlans: fc.Arbitrary<InboxPlan> = fc.record({
  deliveries: fc.array(
    fc.record({
      after: fc.constantFrom(0, 0, 0, 0.5, 3, 12, 65, 200),
      process: fc.constantFrom(0, 1),
      event: fc.constantFrom(0, 1, 2),
      isForged: often(false, false, true),
    }),
    { minLength: 1, maxLength: 14, size: 'max' },
  ),
  transactions: fc.array(transactionFates, { maxLength: 14, size: 'max' }),
  runs: fc.array(handlerFates, { maxLength: 14, size: 'max' }),
  locks: fc.boolean(),
})

export interface Answered {
  readonly planned: PlannedDelivery
  readonly outcome: Outcome
  readonly tookMs: number
  /** The effects in the database when the answer was given. */
  readonly effects: number
  readonly record: 'handled' | 'discarded' | undefined
}

/** The real history, reported by the handlers and the database instead of the receivers. */
interface History {
  readonly answers: Answered[]
  readonly records: DeliveryRecord[]
  readonly faults: string[]
  /** For each event: its committed effects in the end, and whether it has a record. */
  readonly kept: { effects: number; record: 'handled' | 'discarded' | undefined }[]
  /** Transactions whose work has not ended, although their runs must have been given up by now. */
  readonly open: number
}

/** Runs a plan in virtual time, checking for violations. */
export async function liveWithInbox(plan: InboxPlan): Promise<History> {
  const answers: Answered[] = []
  const records: DeliveryRecord[] = []
  const faults: string[] = []
  const orders = [0, 1, 2].map((n) => orderCreated({ id: `ord_${n}` }))
  const authentic = new Set<string>()
  const running = new Map<string, symbol>()
  let runs = 0

  const database = honestInbox({ fates: plan.transactions, locks: plan.locks })
  const { inbox } = database
  const keyOf = (id: string): string => `test/order.created/${id}`
  const heldOf = (id: string) => ({
    effects: database.effects.filter((effect) => effect === id).length,
    record: database.records.get(keyOf(id)),
  })

  async function run(id: string, { tx, signal }: { tx: Ledger; signal: AbortSignal }): Promise<void> {
    if (plan.locks && running.has(id)) faults.push(`two handlers of ${id} ran at once`)
    const mine = Symbol('run')
    running.set(id, mine)
    const leave = (): void => {
      if (running.get(id) === mine) running.delete(id)
    }
    // Its place is free when its transaction is over, though it may go on.
    signal.addEventListener('abort', leave)
    const fate = plan.runs[runs++] ?? { kind: 'returns', takes: 0 }
    try {
      tx.write(id)
      await play(fate)
    } finally {
      leave()
    }
  }

  const processes = [0, 1].map(() =>
    createReceiver<PlannedDelivery, Ledger>({
      secret: SECRET,
      inbox: {
        once(request, work) {
          if (!authentic.has(String(request.key)))
            faults.push(`the inbox was asked for ${request.key} unproven`)
          return inbox.once(request, work)
        },
      },
      namespace: 'test',
      timeoutSeconds: TIMEOUT_SECONDS,
      on: { 'order.created': (event, ctx) => run(event.data.order.id, ctx) },
      onDelivery: (record) => records.push(record),
      onError: () => {},
    }),
  )

  async function deliver(planned: PlannedDelivery): Promise<void> {
    const order = orders[planned.event] as (typeof orders)[number]
    const { id } = order.data.order
    const delivery = await sign(order, { secret: planned.isForged ? 'whsec_x' : SECRET })
    if (!planned.isForged) authentic.add(keyOf(id))
    const receiver = processes[planned.process] as (typeof processes)[number]
    const startedAt = performance.now()
    const outcome = await receiver.receive({ ...delivery, request: planned })
    answers.push({ planned, outcome, tookMs: performance.now() - startedAt, ...heldOf(id) })
  }

  let at = 0
  const all = plan.deliveries.map((planned) => {
    at += planned.after
    return sleep(at).then(() => deliver(planned))
  })
  // Until after the longest run, its commit and the server's timeout of a transaction.
  await advance(at + 2_000)
  await Promise.all(all)
  await Promise.all(processes.map((receiver) => receiver.drain()))
  return {
    answers,
    records,
    faults,
    kept: orders.map(({ data }) => heldOf(data.order.id)),
    open: database.open,
  }
}
