import type {
  FailedDelivery,
  HandledRecords,
  KeepResult,
  Lease,
  Ledger,
  RemoteLedgerStore,
} from '../../src/index.js'
import {
  checkEventFilter,
  checkEventQuery,
  checkGroupLimit,
  checkKey,
  checkReason,
  storableText,
} from '../../src/internal.js'
import { counting, grouping, listing, type Read, reading } from './reads.js'
import { groupIn, type Row, recordIn } from './records.js'
import type { Value } from './statement.js'
import { unexpectedRows } from './unexpected-rows.js'
import { claimAnswer, completeAnswer, isFinal, keepAnswer, type Verdict } from './verdict.js'
import type { UpdateName, UpsertName } from './writes.js'

/** The values of a write; each has the key of its event. */
export type WriteValues = Readonly<Record<string, Value>> & { readonly key: string }

/**
 * A table of events, as one database carries out the statements of the core. Each method rejects with a `StoreError`, with advice and without
 * credentials.
 */
export interface LedgerTable {
  /**
   * Resolves to what the row is then; `undefined` if nothing was written: the event is in the open transaction of an inbox, or it is replayed and
   * not known any more.
   */
  upsert(name: UpsertName, values: WriteValues): Promise<Verdict | undefined>
  /** Resolves to whether the row was changed. */
  update(name: UpdateName, values: WriteValues): Promise<boolean>
  /** What the row is, if it is within its retention; the token is nobody's. */
  find(key: string): Promise<Verdict | undefined>
  forget(key: string): Promise<boolean>
  read(read: Read): Promise<readonly Row[]>
}

/** The methods of a store on a table of events. */
export function ledgerStore(table: LedgerTable): Omit<RemoteLedgerStore, 'check'> {
  return {
    // Without spreads, which cost as much as the rest: a burst has a hundred of these.
    async claim({ key, token, leaseMs, retainMs, about, replay }) {
      const { namespace, account, kind } = factsOf(about)
      const lease_ms = Math.ceil(leaseMs)
      const retain_ms = Math.ceil(retainMs)
      const values = { key, token, lease_ms, retain_ms, namespace, account, kind }
      return replay === undefined
        ? claimAnswer(await table.upsert('claim', values), false)
        : claimAnswer(await table.upsert('claimReplay', { ...values, seen: replay.seen }), true)
    },
    renew: ({ key, token }, leaseMs) => table.update('renew', { key, token, lease_ms: Math.ceil(leaseMs) }),
    async complete({ key, token }, retainMs, discarded) {
      const reason = discarded && storableText(discarded.reason)
      const retain_ms = Math.ceil(retainMs)
      return completeAnswer(await table.upsert('complete', { key, token, retain_ms, reason }))
    },
    release: ({ key, token }) => table.update('release', { key, token }),
    fail: async ({ key, token }: Lease, failed) =>
      kept(await table.upsert('fail', { ...valuesOf(failed), key, token }), true),
    ...ledgerOf(table),
  }
}

/** What a store and an inbox on a table of events have in common. */
export function ledgerOf(table: LedgerTable): {
  keep(failed: FailedDelivery): Promise<KeepResult>
  forget(key: string): Promise<boolean>
  readonly ledger: Ledger
} & HandledRecords {
  return {
    async keep(failed) {
      checkKey(failed.key)
      return kept(await table.upsert('keep', { ...valuesOf(failed), token: '' }), false)
    },
    async forget(key) {
      checkKey(key)
      return table.forget(key)
    },
    async isHandled(key) {
      checkKey(key)
      const found = await table.find(key)
      return found !== undefined && isFinal(found)
    },
    ledger: {
      async get(key) {
        checkKey(key)
        return (await table.read(reading(key))).map(recordIn)[0]
      },
      list: async (query) => (await table.read(listing(checkEventQuery(query)))).map(recordIn),
      async groups({ limit, ...filter } = {}) {
        const most = checkGroupLimit(limit)
        return (await table.read(grouping(checkEventFilter(filter, 'groups'), most))).map(groupIn)
      },
      async count(filter) {
        const [row] = await table.read(counting(checkEventFilter(filter)))
        return Number(row?.[0])
      },
      async discard(key, { reason }) {
        checkKey(key)
        if (await table.update('discard', { key, reason: storableText(checkReason(reason)) }))
          return 'discarded'
        const found = await table.find(key)
        if (found === undefined) return undefined
        return isFinal(found) ? 'handled' : 'in_flight'
      },
    },
  }
}

function kept(verdict: Verdict | undefined, isClaimed: boolean): KeepResult {
  const answer = keepAnswer(verdict, isClaimed)
  if (answer === undefined) throw unexpectedRows()
  return answer
}

/** The facts of an event, as columns. */
export function factsOf(
  facts: { readonly namespace: string; readonly account?: string; readonly kind: string } | undefined,
): Readonly<Record<string, Value>> {
  return {
    namespace: facts && storableText(facts.namespace),
    account: facts?.account && storableText(facts.account),
    kind: facts && storableText(facts.kind),
  }
}

/** The values of `fail` and `keep`. */
function valuesOf(failed: FailedDelivery): WriteValues {
  const { parkAfter = {} } = failed
  const text = (value: string | undefined): string | undefined => value && storableText(value)
  return {
    key: failed.key,
    retain_ms: Math.ceil(failed.retainMs),
    ...factsOf(failed),
    is_replay: Number(failed.isReplay),
    park_attempts: parkAfter.attempts,
    park_ms: parkAfter.ms === undefined ? undefined : Math.ceil(parkAfter.ms),
    cause: failed.group,
    code: storableText(failed.code),
    message: storableText(failed.message),
    event_id: text(failed.eventId),
    order_id: text(failed.orderId),
    signed_at: Math.round(failed.signedAt.getTime()) || 0,
    secret_index: failed.secretIndex,
    raw_body: failed.rawBody,
  }
}
