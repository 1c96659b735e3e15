import type { HandlerContext, Outcome, WebhookOptions } from 'tix-webhooks'
import { vi } from 'vitest'
import { orderCreated, sign } from './deliveries.js'
import { deferred, watch } from './promises.js'
import { receiving } from './receiving.js'
import { type Script, scriptedStore } from './scripted-store.js'

/** The key of each delivery that is begun here. */
export const KEY = 'test/order.created/ord_1'

/** More than any lease of these tests, so that neither the deadline nor the limit of a run plays a part. */
const NO_LIMITS = { timeoutSeconds: 3_600, maxRunSeconds: 3_600 }

/** One delivery on a store that a test scripts, whose handler the test settles, and all that can be seen of it from outside. */
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
  const kept: Promise<unknown>[] = []
  const delivery = await sign(orderCreated({ id: 'ord_1' }))
  const seen: { outcome?: Outcome } = {}
  const answer = receiver
    .receive({ ...delivery, request: null, waitUntil: (promise) => kept.push(promise) })
    .then((outcome) => {
      seen.outcome = outcome
      return outcome
    })
  return {
    ...scripted,
    receiver,
    records,
    reports,
    /** What the handler was told. */
    contexts,
    handler,
    work,
    /** What `waitUntil` was given. */
    kept,
    answer,
    /** The codes of what was reported, or the messages of errors that have none. */
    codes: () => reports.map(({ error }) => error.code ?? error.message),
    /** The outcome, once the sender has it. */
    answered: () => seen.outcome,
    /** Why the signal of the handler has aborted. */
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

/** Handlers after which the store is called so. */
export const ENDING = {
  complete: () => {},
  release: () => {
    throw BOOM
  },
} as const

export const REFUSED = new Error('connect ECONNREFUSED')

export const refused = async (): Promise<never> => {
  throw REFUSED
}

export const throwing = (): never => {
  throw new Error('not connected')
}

/** Longer than all tries to record how a run ended take, each of them as long as it may. */
export const ALL_TRIES = 65
