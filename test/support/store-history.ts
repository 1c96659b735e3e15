import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import type { IdempotencyStore } from 'tix-webhooks'
import type { LedgerAnswer } from '../../src/ledger/transition.js'
import { type StoreCall, send } from '../../testing/store-cases/model.js'
import { failedDelivery } from '../../testing/store-cases/steps.js'
import type { KeyAction, RecordedCall } from './linearizable.js'
import type { StoreBackend } from './store-backend.js'

const MINUTE = 60_000
const HOUR = 60 * MINUTE

/** Real stores have their own clock: no time that a test uses is within a quarter of an hour of a limit. */
const LEASE = 30 * MINUTE
const RETAIN = 10 * HOUR
const PAST_LEASE = 40 * MINUTE
export const PAST_RETENTION = 20 * HOUR

let keys = 0

/** A key that no other test uses, even on a server that outlives the tests. */
export function freshKey(): string {
  keys += 1
  return `races/${randomUUID()}/${keys}`
}

/** The calls of one delivery. */
export function callsOf(token: string): Record<'claim' | 'renew' | 'complete' | 'release', StoreCall> {
  return {
    claim: { do: 'claim', token, leaseMs: LEASE, retainMs: RETAIN },
    renew: { do: 'renew', token, leaseMs: LEASE },
    complete: { do: 'complete', token, retainMs: RETAIN },
    release: { do: 'release', token },
  }
}

/** Records the calls on one key as their callers see them. A rejected call counts as one without a reply. */
function createHistory() {
  const calls: RecordedCall[] = []
  const failures: unknown[] = []
  let moment = 0

  function begin(call: KeyAction) {
    const index = calls.length
    const recorded = { call, start: ++moment, end: Infinity, answer: undefined }
    calls.push(recorded)
    return (answer: LedgerAnswer | undefined): void => {
      calls[index] = { ...recorded, end: ++moment, answer }
    }
  }

  async function record(
    call: KeyAction,
    work: () => LedgerAnswer | undefined | Promise<LedgerAnswer | undefined>,
  ): Promise<LedgerAnswer | undefined> {
    const end = begin(call)
    try {
      const answer = await work()
      end(answer)
      return answer
    } catch (error) {
      failures.push(error)
      return undefined
    }
  }

  return {
    calls,
    /** The rejections: none on a working backend. */
    failures,
    record,
    recordLost: (call: KeyAction): void => {
      begin(call)
    },
  }
}

type StoreHistory = ReturnType<typeof createHistory>

/** The fate of a call: answered; done, but the reply is lost; delayed until the next phase; lost on its way. */
type Fate = 'answered' | 'reply lost' | 'late' | 'lost'
type PlannedCall = readonly [call: StoreCall, fate: Fate]
/** For each phase, for each of its workers, its calls one after another. */
type Plan = readonly (readonly (readonly PlannedCall[])[])[]

const WORKERS = ['1', '2', '3', '4']
const PHASES = 3

function plans(isLossy: boolean, isLedger: boolean): fc.Arbitrary<Plan> {
  const fate = fc.oneof(
    { weight: isLossy ? 7 : 1, arbitrary: fc.constant<Fate>('answered') },
    { weight: isLossy ? 3 : 0, arbitrary: fc.constantFrom<Fate>('reply lost', 'late', 'lost') },
  )
  const worker = (own: string): fc.Arbitrary<PlannedCall[]> => {
    const token = fc.oneof(
      { weight: 3, arbitrary: fc.constant(own) },
      { weight: 1, arbitrary: fc.constantFrom(...WORKERS) },
    )
    const leaseMs = fc.constantFrom(LEASE, 10 * LEASE)
    const retainMs = fc.constantFrom(RETAIN, 10 * RETAIN)
    const failures = fc
      .record({ isReplay: fc.nat(4).map((n) => n === 0), attempts: fc.constantFrom(1, 3, 9) })
      .map(({ isReplay, attempts }) =>
        failedDelivery('', { isReplay, parkAfter: { attempts }, retainMs: RETAIN }),
      )
    const call: fc.Arbitrary<StoreCall> = fc.oneof(
      { weight: 5, arbitrary: fc.record({ do: fc.constant('claim' as const), token, leaseMs, retainMs }) },
      { weight: 2, arbitrary: fc.record({ do: fc.constant('renew' as const), token, leaseMs }) },
      { weight: 1, arbitrary: fc.record({ do: fc.constant('complete' as const), token, retainMs }) },
      { weight: 2, arbitrary: fc.record({ do: fc.constant('release' as const), token }) },
      {
        weight: isLedger ? 4 : 0,
        arbitrary: fc.record({ do: fc.constant('fail' as const), token, failed: failures }),
      },
      {
        weight: isLedger ? 1 : 0,
        arbitrary: fc.record({ do: fc.constant('keep' as const), failed: failures }),
      },
    )
    return fc.array(fc.tuple(call, fate), { minLength: 1, maxLength: 2, size: 'max' })
  }
  const phase = fc.tuple(...WORKERS.map(worker))
  return fc.array(phase, { minLength: PHASES, maxLength: PHASES })
}

const pauses = fc.oneof(
  { weight: 1, arbitrary: fc.constant(5 * MINUTE) },
  { weight: 4, arbitrary: fc.constant(PAST_LEASE) },
  { weight: 1, arbitrary: fc.constant(PAST_RETENTION) },
)

const BATCH = 20

interface HistoryOptions {
  readonly count: number
  /** Whether some calls are late, and some replies are lost. */
  readonly isLossy?: boolean
  /** Whether the clients are ledgers, whose runs fail too. */
  readonly isLedger?: boolean
  /** The seed of the plans; the timing depends on the backend. */
  readonly seed: number
}

/**
 * Random histories: four workers on one key, who sometimes use one another's token, in three phases with time passing between
 * them. At the end each token is tried, to reveal errors that no answer showed.
 */
export async function randomHistories(
  clients: readonly IdempotencyStore[],
  { advance }: Pick<StoreBackend, 'advance'>,
  { count, isLossy = false, isLedger = false, seed }: HistoryOptions,
): Promise<StoreHistory[]> {
  const histories: StoreHistory[] = []
  const sampled = fc.sample(plans(isLossy, isLedger), { numRuns: count, seed })
  const sampledPauses = fc.sample(pauses, { numRuns: count, seed })
  for (let at = 0; at < count; at += BATCH) {
    const runs = sampled.slice(at, at + BATCH).map((plan) => startHistory(clients, plan))
    const passAll = (ms: number) =>
      pass(
        runs.map(({ history }) => history),
        () => advance(ms),
        ms,
      )
    for (let phase = 0; phase < PHASES; phase++) {
      const ms = phase === 0 ? 0 : (sampledPauses[(at + phase) % count] ?? 0)
      await passAll(ms)
      await Promise.all(runs.map((run) => run.play(phase)))
    }
    await Promise.all(runs.map((run) => run.conclude()))
    await passAll(PAST_LEASE)
    await Promise.all(runs.map((run) => run.tryOnceMore()))
    histories.push(...runs.map(({ history }) => history))
  }
  return histories
}

/** Advances the clock once, in all histories that share it. */
async function pass(
  histories: readonly StoreHistory[],
  advance: () => Promise<void>,
  ms: number,
): Promise<void> {
  if (ms === 0) return
  const done = advance()
  await Promise.all(
    histories.map(({ record }) => record({ do: 'advance', ms }, () => done.then(() => undefined))),
  )
  await done
}

function startHistory(clients: readonly IdempotencyStore[], plan: Plan) {
  const key = freshKey()
  const history = createHistory()
  let sent = 0
  let late: StoreCall[] = []

  async function deliver(call: StoreCall): Promise<LedgerAnswer> {
    sent += 1
    const own = 'failed' in call ? { ...call, failed: { ...call.failed, key } } : call
    return send(clients[sent % clients.length] as IdempotencyStore, { ...own, key })
  }

  async function work(calls: readonly PlannedCall[]): Promise<void> {
    for (const [call, fate] of calls) {
      if (fate === 'answered') {
        await history.record(call, () => deliver(call))
        continue
      }
      history.recordLost(call)
      if (fate === 'reply lost') await deliver(call)
      if (fate === 'late') late.push(call)
    }
  }

  function takeLate(): StoreCall[] {
    const taken = late
    late = []
    return taken
  }

  return {
    history,
    async play(phase: number): Promise<void> {
      const arriving = takeLate()
      await Promise.all([...arriving.map(deliver), ...(plan[phase] ?? []).map(work)])
    },
    async conclude(): Promise<void> {
      await Promise.all(takeLate().map(deliver))
      const probes = [...WORKERS.map((token) => callsOf(token).renew), callsOf('stranger').claim]
      for (const call of probes) await history.record(call, () => deliver(call))
    },
    async tryOnceMore(): Promise<void> {
      const { claim } = callsOf('successor')
      await history.record(claim, () => deliver(claim))
    },
  }
}
