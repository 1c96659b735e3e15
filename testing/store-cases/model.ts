import type {
  ClaimRequest,
  EventRecord,
  FailedDelivery,
  IdempotencyStore,
  Lease,
  LedgerStore,
} from '../../src/index.js'
import {
  type EventRow,
  isLive,
  type LedgerAnswer,
  type LedgerCall,
  recordOf,
  transition,
} from '../../src/internal.js'

/** A call of a store or a ledger, without its key: all but those of an inbox. */
export type StoreCall = Exclude<LedgerCall, { readonly do: 'open' }>
export type KeyedCall = StoreCall & { readonly key: string }

/** A call of a store, or time that passes. */
export type StoreAction =
  | KeyedCall
  | { readonly do: 'forget'; readonly key: string }
  | { readonly do: 'advance'; readonly ms: number }

/** A store in memory that decides by the `transition` of the contract, whose clock is advanced by hand. */
export interface StoreModel {
  /** Performs an action, and returns the answer: undefined if time passes. */
  perform(action: StoreAction): LedgerAnswer
  /** What a ledger must say of the event. */
  recordOf(key: string): EventRecord | undefined
}

export function createStoreModel(): StoreModel {
  let now = 0
  const rows = new Map<string, EventRow>()
  const timeNow = () => ({ now, leaseNow: now })
  return {
    perform(action) {
      if (action.do === 'advance') {
        now += action.ms
        return undefined
      }
      const stored = rows.get(action.key)
      if (action.do === 'forget') {
        rows.delete(action.key)
        return isLive(stored, timeNow())
      }
      const { row, answer } = transition(stored, action, timeNow())
      if (row !== undefined) rows.set(action.key, row)
      return answer
    },
    recordOf(key) {
      const row = rows.get(key)
      return isLive(row, timeNow()) ? recordOf(key, row, timeNow()) : undefined
    },
  }
}

type Argument = ClaimRequest | Lease | FailedDelivery
type Prepare = <One extends Argument>(argument: One) => One

/** Makes a call of a store, with new arguments. Only a ledger has all of them. */
export function send(
  store: IdempotencyStore,
  call: KeyedCall | Extract<StoreAction, { readonly do: 'forget' }>,
  prepare: Prepare = (argument) => argument,
): LedgerAnswer | Promise<LedgerAnswer> {
  const ledger = store as LedgerStore
  switch (call.do) {
    case 'keep':
      return ledger.keep(prepare({ ...call.failed }))
    case 'discard':
      return ledger.ledger.discard(call.key, { reason: call.reason })
    case 'forget':
      return ledger.forget(call.key)
  }
  const lease = prepare({ key: call.key, token: call.token })
  switch (call.do) {
    case 'claim': {
      const { do: _, ...request } = call
      return store.claim(prepare(request as ClaimRequest))
    }
    case 'renew':
      return store.renew(lease, call.leaseMs)
    case 'complete':
      return store.complete(lease, call.retainMs, ...(call.discarded ? [call.discarded] : []))
    case 'release':
      return store.release(lease)
    case 'fail':
      return ledger.fail(lease, prepare({ ...call.failed }))
  }
}
