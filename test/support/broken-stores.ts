import type { ClaimResult, IdempotencyStore } from 'tix-webhooks'
import {
  type KeyRecord,
  type StoreAnswer,
  type StoreCall,
  type Transition,
  transition,
} from '../../testing/store-cases/transition.js'
import { type PurgingStore, type StoreBackend, someTurns } from './store-backend.js'

/** The minimum of any backend. Each call is atomic; two calls are not. */
export interface KeyValue {
  get(key: string): Promise<string | undefined>
  set(key: string, value: string): Promise<void>
}

/** A backend whose calls take a while to arrive, so that they interleave. */
function memoryKeyValue(): KeyValue & { readonly entries: Map<string, string> } {
  const entries = new Map<string, string>()
  return {
    entries,
    async get(key) {
      await someTurns()
      return entries.get(key)
    },
    async set(key, value) {
      await someTurns()
      entries.set(key, value)
    },
  }
}

type Decide = (record: KeyRecord | undefined, call: StoreCall, now: number) => Transition

/** A store that sees another record than there is. */
function seeing(change: (record: KeyRecord, call: StoreCall, now: number) => Partial<KeyRecord>): Decide {
  return (record, call, now) => transition(record && { ...record, ...change(record, call, now) }, call, now)
}

/** A store that takes every caller of a method for the holder. */
function withoutOwnerCheck(method: StoreCall['do']): Decide {
  return (record, call, now) =>
    transition(record, call.do === method ? { ...call, token: record?.token ?? call.token } : call, now)
}

/** Faulty stores, each as its decisions. `none` is correct, and shows that the harness is. */
const DECISIONS = {
  none: transition,
  // Wrong in the execution, not in the decision.
  'a claim that reads, then writes': transition,
  'a claim that ignores the lease': seeing((_, call, now) =>
    call.do === 'claim' ? { leaseUntil: now } : {},
  ),
  'a lease that never runs out': seeing((_, call, now) =>
    call.do === 'claim' ? { leaseUntil: now + 1 } : {},
  ),
  'a release without an owner check': withoutOwnerCheck('release'),
  'a completion without an owner check': withoutOwnerCheck('complete'),
  'a renewal that claims': (record, call, now) => {
    if (call.do !== 'renew') return transition(record, call, now)
    const claim = { ...call, do: 'claim' as const, retainMs: 20 * call.leaseMs }
    const { record: next, answer } = transition(record, claim, now)
    return { record: next, answer: typeof answer === 'object' && answer.status === 'claimed' }
  },
  'a claim that takes back what its own token released': seeing(({ phase }, call) =>
    call.do === 'claim' && phase === 'released' ? { phase: 'running', leaseUntil: 0 } : {},
  ),
} as const satisfies Record<string, Decide>

export type Fault = keyof typeof DECISIONS

export const FAULTS = Object.keys(DECISIONS).filter((name) => name !== 'none') as Exclude<Fault, 'none'>[]

const queues = new WeakMap<KeyValue, Map<string, Promise<unknown>>>()

/** Runs the work on each key one piece after another, for all clients in this process. */
async function inTurn<T>(kv: KeyValue, key: string, work: () => Promise<T>): Promise<T> {
  const waiting = queues.get(kv) ?? new Map<string, Promise<unknown>>()
  queues.set(kv, waiting)
  const done = (waiting.get(key) ?? Promise.resolve()).then(work)
  waiting.set(
    key,
    done.catch(() => {}),
  )
  return done
}

/** A store with one fault over any key-value backend. Its other calls run one after another. */
function brokenStore(kv: KeyValue, fault: Fault, now: () => number): IdempotencyStore {
  const decide: Decide = DECISIONS[fault]

  async function handle(key: string, call: StoreCall): Promise<StoreAnswer> {
    const text = await kv.get(key)
    const found = text === undefined ? undefined : (JSON.parse(text) as KeyRecord)
    const { record, answer } = decide(found, call, now())
    if (record !== undefined) await kv.set(key, JSON.stringify(record))
    return answer
  }

  function answer(key: string, call: StoreCall): Promise<StoreAnswer> {
    const isInTurn = fault !== 'a claim that reads, then writes' || call.do !== 'claim'
    return isInTurn ? inTurn(kv, key, () => handle(key, call)) : handle(key, call)
  }

  const isTrue = async (key: string, call: StoreCall): Promise<boolean> => (await answer(key, call)) === true

  return {
    claim: async ({ key, ...request }) => (await answer(key, { do: 'claim', ...request })) as ClaimResult,
    renew: ({ key, token }, leaseMs) => isTrue(key, { do: 'renew', token, leaseMs }),
    complete: ({ key, token }, retainMs) => isTrue(key, { do: 'complete', token, retainMs }),
    release: ({ key, token }) => isTrue(key, { do: 'release', token }),
  }
}

export function brokenBackend(fault: Fault, kv: KeyValue = memoryKeyValue()): StoreBackend {
  let now = 0
  return {
    name: fault,
    create: async () => brokenStore(kv, fault, () => now),
    advance: async (ms) => {
      now += ms
    },
  }
}

/** A memory store whose purge deletes the records that it read as expired: safe only if it checks again. */
export function purgingBackend(looksAgain: boolean): StoreBackend<PurgingStore> {
  const kv = memoryKeyValue()
  let now = 0
  const isExpired = (text: string | undefined): boolean =>
    text !== undefined && (JSON.parse(text) as KeyRecord).expiresAt <= now

  async function purge({ limit }: { limit: number }): Promise<number> {
    await someTurns()
    const expired = [...kv.entries].filter(([, text]) => isExpired(text)).map(([key]) => key)
    let count = 0
    for (const key of expired.slice(0, limit)) {
      await someTurns()
      await inTurn(kv, key, async () => {
        if (looksAgain && !isExpired(kv.entries.get(key))) return
        if (kv.entries.delete(key)) count += 1
      })
    }
    return count
  }

  return {
    name: looksAgain ? 'a purge that looks again' : 'a purge that reads, then deletes',
    create: async () => ({ ...brokenStore(kv, 'none', () => now), purge }),
    advance: async (ms) => {
      now += ms
    },
  }
}
