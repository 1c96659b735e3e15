import type {
  ClaimRequest,
  FailedDelivery,
  HandlerContext,
  IdempotencyStore,
  Lease,
  LedgerStore,
  Outcome,
  WebhookOptions,
} from 'tix-webhooks'
import { vi } from 'vitest'
import { orderCreated, sign } from './deliveries.js'
import { deferred, throws, watch } from './promises.js'
import { receiving } from './receiving.js'

/** The key of each delivery started here. */
export const KEY = 'test/order.created/ord_1'

/** Longer than any lease of these tests, so that neither the deadline nor the limit of a run matters. */
const NO_LIMITS = { timeoutSeconds: 3_600, maxRunSeconds: 3_600 }

/** The calls of a store, in order: the method and its arguments. */
type StoreCall =
  | readonly ['claim', ClaimRequest]
  | readonly ['renew', Lease, number]
  | readonly ['complete', Lease, number, { readonly reason: string }?]
  | readonly ['release', Lease]
  | readonly ['fail', Lease, FailedDelivery]
  | readonly ['keep', FailedDelivery]

type Method = keyof IdempotencyStore | 'fail' | 'keep'

/** A method's answer: a value or a promise of any shape, or it throws, as a foreign store may. */
export type Script = Partial<Record<Method, (...args: readonly unknown[]) => unknown>>

/**
 * A scripted store, however wrong: for answers that no real store gives on command. Without a script each call is granted. With one for `fail`
 * or `keep` it is a ledger.
 */
export function scriptedStore(script: Script = {}) {
  const calls: StoreCall[] = []
  function method(name: Method, granted: unknown) {
    return (...args: readonly unknown[]) => {
      calls.push([name, ...args] as unknown as StoreCall)
      return (script[name] ?? (async () => granted))(...args)
    }
  }
  const store = {
    claim: method('claim', { status: 'claimed', attempt: 1 }),
    renew: method('renew', true),
    complete: method('complete', true),
    release: method('release', true),
    ...('fail' in script || 'keep' in script
      ? { fail: method('fail', 'failing'), keep: method('keep', 'failing'), forget: () => true, ledger: {} }
      : {}),
  } as unknown as IdempotencyStore & Pick<LedgerStore, 'fail'>
  return { store, script, calls, called: () => calls.map(([name]) => name) }
}

/** One delivery on a scripted store, whose handler the test settles, and everything observable from outside. */
export async function begin(script: Script = {}, options: Partial<WebhookOptions> = {}) {
  const scripted = scriptedStore(script)
  const work = deferred<unknown>()
  const contexts: HandlerContext[] = []
  const handler = vi.fn((_: unknown, ctx: HandlerContext) => {
    contexts.push(ctx)
    return work.promise
  })
  const { receiver, records, reports } = receiving({
    ...NO_LIMITS,
    store: scripted.store,
    namespace: 'test',
    on: { 'order.created': handler },
    ...options,
  })
  const given: Promise<unknown>[] = []
  const delivery = await sign(orderCreated({ id: 'ord_1' }))
  const seen: { outcome?: Outcome } = {}
  const answer = receiver
    .receive({ ...delivery, request: null, waitUntil: (promise) => given.push(promise) })
    .then((outcome) => {
      seen.outcome = outcome
      return outcome
    })
  return {
    ...scripted,
    receiver,
    records,
    reports,
    /** The contexts that the handler got. */
    contexts,
    handler,
    work,
    /** The promises passed to `waitUntil` after the one of the delivery itself. */
    kept: () => given.slice(1),
    answer,
    /** The codes of the reported errors, or the messages of errors without one. */
    codes: () => reports.map(({ error }) => error.code ?? error.message),
    /** The outcome, once the sender has it. */
    answered: () => seen.outcome,
    /** The reason for which the handler's signal aborted. */
    lost: () => contexts[0]?.signal.reason as (Error & { code?: string }) | undefined,
    /** The key and the token of its claim. */
    lease: () => leaseOf(scripted.calls[0]),
    drain: () => watch(receiver.drain()),
  }
}

function leaseOf(call: ReturnType<typeof scriptedStore>['calls'][number] | undefined) {
  if (call?.[0] !== 'claim') throw new Error('Nothing was claimed.')
  const { key, token } = call[1]
  return { key, token }
}

export const BOOM = new Error('boom')

/** Handlers by the store call that follows them. */
export const ENDING = {
  complete: () => {},
  release: throws(BOOM),
  fail: throws(BOOM),
} as const

export const REFUSED = new Error('connect ECONNREFUSED')

export const refused = async (): Promise<never> => {
  throw REFUSED
}

export const throwing = (): never => {
  throw new Error('not connected')
}

/** Longer than all attempts to record the end of a run, each as long as possible. */
export const ALL_TRIES = 65
