import { setTimeout as pause } from 'node:timers/promises'
import type { App } from '../running-apps.js'
import { runs } from '../runs.js'
import { seeded } from '../storm.js'
import { type Facts, Ledger } from './ledger.js'
import { newEvent, type Plan, type Sent } from './plans.js'
import { Receivers } from './receivers.js'

/** The database of a storm. */
export interface LedgerPlace {
  facts(): Promise<Facts>
  /**
   * Of one moment: the keys of events that are handled and kept, if that must never be; and those of the given ones that are neither.
   *
   * @returns a sentence for each
   */
  sample(settled: readonly string[]): Promise<string[]>
  keptKeys(): Promise<string[]>
  deployFix(): Promise<void>
}

/** A schema or a database of a SQL server for a storm, and its end. */
export interface SqlLedgerPlace extends LedgerPlace {
  /** Its name, by which the connections under test are found. */
  readonly place: string
  /** Terminates some of those connections. */
  terminate(): Promise<void>
  close(): Promise<void>
}

export interface FailureStorm {
  readonly place: LedgerPlace
  readonly plans: readonly Plan[]
  readonly isTransactional: boolean
  readonly seed: number
  /**
   * Starts a process of the receiver.
   *
   * @param leaseSeconds of a store
   */
  start(slot: number, leaseSeconds: number): Promise<App>
  /** Without the deliveries in calm before it, and with one kill and one stop: for a server whose twin has a whole storm. */
  readonly isShort?: boolean
  /** The faults meanwhile, beside processes that are killed and stopped. */
  readonly faults: readonly Fault[]
}

export type Fault = (receivers: Receivers, ledger: Ledger) => Promise<unknown>

export interface Report {
  readonly violations: readonly string[]
  readonly outcomes: ReadonlyMap<string, number>
}

/** The outcomes that each storm must have seen, or it has proved nothing. */
export const EXPECTED_OUTCOMES: string[] = [
  ...['handled', 'duplicate', 'failed', 'retry_later', 'timed_out', 'unprocessable', 'parked'],
  ...['replay handled', 'replay failed', 'replay unprocessable'],
]

/** Events that may be handled by one delivery while another one is about to be kept. */
const OVERTAKEN: readonly Plan[] = Array.from({ length: 12 }, () => 'fails once')

const PROCESSES = 3
const LANES = 10
/** A sender without pauses to speak of gives an event up only if something is stuck. */
const TRIES = 1_500
const IMPATIENCE = 2
const STOPPED_MS = 300
/** A process that dies holds its events up for so long; one that lives and is slow may lose them to others. */
const SHORT_LEASE_SECONDS = 2
const LONG_LEASE_SECONDS = 60
const REPLAYS: readonly object[] = [
  { limit: 5 },
  { state: 'parked', limit: 5 },
  { kind: 'order.created', limit: 3 },
]

const kill: Fault = (receivers) => receivers.kill()

/** Stops a process until the others have gone on, or until all deliveries wait for it. */
const stop: Fault = async (receivers, ledger) => {
  const app = receivers.pick()
  app.signal('SIGSTOP')
  await Promise.race([ledger.more(6), pause(STOPPED_MS)])
  app.signal('SIGCONT')
}

/** Sends each plan in calm, and then for as long as the faults last; deploys the fix, and replays all that is left. */
export async function failureStorm(storm: FailureStorm): Promise<Report> {
  const { place, isTransactional } = storm
  const random = seeded(storm.seed)
  const ledger = new Ledger()
  const upTo = (count: number): number => Math.floor(random() * count)
  let events = 0

  async function newCopies(plan: Plan): Promise<Sent[]> {
    const event = await newEvent(plan, `ord_${events++}`)
    ledger.send(event)
    return Array.from({ length: 1 + upTo(3) }, () => event)
  }

  /** Delivers as the service does: until it is answered with a 2xx, perhaps one of another copy; or for so many attempts. */
  async function deliver(event: Sent, receivers: Receivers): Promise<void> {
    let patience = upTo(3) === 0 ? IMPATIENCE : Number.POSITIVE_INFINITY
    const stopsWithOthers = upTo(2) === 0
    for (let i = 0; i < TRIES; i++) {
      if (stopsWithOthers && ledger.isDone(event)) return
      const ended = ledger.sent(event)
      const end = await receivers.pick().deliver(event)
      const isReliable = ended(end)
      if (typeof end !== 'string' && end.status < 300) return
      if (isReliable && --patience === 0) return
      await pause(5 + upTo(30))
    }
    ledger.report(`stuck: ${event.key} (${event.plan}) was delivered ${TRIES} times`)
  }

  async function replay(app: App, what: object): Promise<Map<string, string>> {
    const replayed = await app.call('/replay', what)
    const found = Array.isArray(replayed) ? replayed : []
    for (const { key, outcome } of found) ledger.replayEnded(key, outcome)
    return new Map(found.map(({ key, outcome }) => [key, outcome]))
  }

  /** Delivers until all of it has happened, and each plan was sent; then lets the processes come to rest, and judges. */
  async function round(
    plans: readonly Plan[],
    faults: readonly Fault[],
    leaseSeconds: number,
  ): Promise<void> {
    const receivers = await Receivers.open(PROCESSES, (slot) => storm.start(slot, leaseSeconds), random)
    const queue: Sent[] = []
    for (const plan of plans) queue.push(...(await newCopies(plan)))
    const pickPlan = (): Plan => plans[upTo(plans.length)] as Plan
    let isOver = faults.length === 0
    let isDelivered = false

    async function lane(): Promise<void> {
      for (;;) {
        if (queue.length === 0 && !isOver) queue.push(...(await newCopies(pickPlan())))
        const event = queue.shift()
        if (event === undefined) return
        await deliver(event, receivers)
      }
    }
    async function fail(): Promise<void> {
      for (const fault of faults) {
        await ledger.more(5 + upTo(10))
        await fault(receivers, ledger)
      }
      isOver = true
    }
    async function replayNow(): Promise<void> {
      for (let i = 0; !isDelivered; i++) {
        const keys = await place.keptKeys()
        const key = keys[upTo(keys.length)]
        const byKey = i % 2 === 0 && key !== undefined
        await replay(receivers.pick(), byKey ? { key } : { filter: REPLAYS[upTo(REPLAYS.length)] })
        await Promise.race([ledger.more(4), delivering])
      }
    }
    async function sample(): Promise<void> {
      while (!isDelivered) {
        for (const fault of await place.sample(ledger.settledKeys)) ledger.report(fault)
        await Promise.race([ledger.more(1), delivering])
      }
    }

    const delivering = Promise.all(Array.from({ length: LANES }, lane)).then(() => {
      isDelivered = true
    })
    await Promise.all([delivering, fail(), replayNow(), sample()])
    await receivers.close()
  }

  /** Replays until all that is left are events that cannot be read. */
  async function replayAll(): Promise<Map<string, string>> {
    const receivers = await Receivers.open(1, (slot) => storm.start(slot, SHORT_LEASE_SECONDS), random)
    const last = new Map<string, string>()
    for (let i = 0; i < 50; i++) {
      const replayed = await replay(receivers.pick(), { filter: { limit: 1_000 } })
      for (const [key, outcome] of replayed) last.set(key, outcome)
      if ([...replayed.values()].every((outcome) => outcome === 'unprocessable')) break
    }
    await receivers.close()
    return last
  }

  const violations: string[] = []
  const judge = async (when: string, canBeBoth = false): Promise<void> => {
    const found = ledger.judge(await place.facts(), { isTransactional, canBeBoth })
    violations.push(...found.map((fault) => `${when}: ${fault}`))
  }
  const own = storm.isShort ? [kill, stop] : [kill, kill, kill, stop, stop, stop]
  const faults = [...own, ...storm.faults]
  const shuffled = Array.from({ length: runs(1) }, () => faults)
    .flat()
    .map((fault) => ({ fault, at: random() }))
    .sort((a, b) => a.at - b.at)
  if (!storm.isShort) {
    await round([...storm.plans.filter((plan) => plan !== 'hangs'), ...OVERTAKEN], [], LONG_LEASE_SECONDS)
    await judge('in calm')
  }
  await round(
    storm.plans,
    shuffled.map(({ fault }) => fault),
    SHORT_LEASE_SECONDS,
  )
  await judge('after the storm', !isTransactional)
  await place.deployFix()
  const replayed = await replayAll()
  await judge('after the fix')
  violations.push(...ledger.judgeFixed(await place.facts(), replayed))
  return { violations, outcomes: ledger.outcomes }
}
