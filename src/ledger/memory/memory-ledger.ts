import { checkKey } from '../../lib/check-key.js'
import { defined } from '../../lib/defined.js'
import type { EventGroup, EventPosition, EventRecord, Ledger } from '../ledger.js'
import {
  type CheckedFilter,
  checkEventFilter,
  checkEventQuery,
  checkGroupLimit,
  checkReason,
} from '../rules.js'
import { type EventRow, isFinal, isLive, type LedgerTime } from '../transition.js'

/** The rows of a store in memory. */
export interface Rows {
  rows(): readonly { readonly key: string; readonly row: EventRow }[]
  rowOf(key: string): EventRow | undefined
  timeNow(): LedgerTime
}

interface Discardable extends Rows {
  discard(key: string, reason: string): 'discarded' | 'handled' | 'in_flight' | undefined
}

const MOST_COUNTED = 10_000

/** The matching ones, oldest first. It looks at all rows, of which there are not many. */
function matching({ rows, timeNow }: Rows, { state, ...filter }: CheckedFilter): EventRecord[] {
  const time = timeNow()
  const conditions = Object.entries(filter)
  return rows()
    .filter(({ row }) => isLive(row, time))
    .map(({ key, row }) => recordOf(key, row, time))
    .filter((record) => (state === undefined ? record.failure !== undefined : record.state === state))
    .filter((record) => {
      const values: Readonly<Record<string, unknown>> = { ...record, group: record.failure?.group }
      return conditions.every(([name, value]) => values[name] === value)
    })
    .sort(compare)
}

interface ReplayQuery extends CheckedFilter {
  readonly order: 'oldest'
  readonly bodies: true
  readonly after: EventPosition | undefined
  readonly limit: number
}

/** The part of a ledger that a replay reads. */
interface Replayable {
  get(key: string): Promise<EventRecord | undefined>
  list(query: ReplayQuery): Promise<readonly EventRecord[]>
}

/** @returns what checks no query, because a replay has done so */
export function replayableIn(events: Rows): Replayable {
  return {
    get: async (key) => found(events, key),
    list: async ({ order, bodies, after, limit, ...filter }) =>
      matching(events, filter)
        .filter((record) => after === undefined || compare(record, after) > 0)
        .slice(0, limit),
  }
}

function found({ rowOf, timeNow }: Rows, key: string): EventRecord | undefined {
  const row = rowOf(key)
  const time = timeNow()
  return isLive(row, time) ? recordOf(key, row, time) : undefined
}

export function memoryLedger(events: Discardable): Ledger {
  return {
    async get(key) {
      checkKey(key)
      return found(events, key)
    },
    async list(query) {
      const { filter, order, before, after, limit, bodies } = checkEventQuery(query)
      const records = matching(events, filter).filter(
        (record) =>
          (before === undefined || compare(record, before) < 0) &&
          (after === undefined || compare(record, after) > 0),
      )
      if (order === 'newest') records.reverse()
      return records.slice(0, limit).map((record) => (bodies ? record : withoutBody(record)))
    },
    async groups({ limit, ...filter } = {}) {
      const most = checkGroupLimit(limit)
      const groups = new Map<string, EventRecord[]>()
      for (const record of matching(events, checkEventFilter(filter, 'groups'))) {
        const group = record.failure?.group ?? ''
        groups.set(group, [...(groups.get(group) ?? []), record])
      }
      return [...groups.values()]
        .map(groupOf)
        .sort((a, b) => b.lastAt.getTime() - a.lastAt.getTime() || (a.group < b.group ? -1 : 1))
        .slice(0, most)
    },
    count: async (filter) => Math.min(matching(events, checkEventFilter(filter)).length, MOST_COUNTED + 1),
    async discard(key, { reason }) {
      checkKey(key)
      return events.discard(key, checkReason(reason))
    },
  }
}

/** What a ledger says of an event. */
export function recordOf(key: string, row: EventRow, { leaseNow }: LedgerTime): EventRecord {
  const { about, failure } = row
  const seen = failure === undefined ? 0 : failure.count + failure.replays
  const { state, reason, handledAt } = row
  return {
    key,
    namespace: about?.namespace ?? '',
    kind: about?.kind ?? '',
    state:
      state === 'handled' || state === 'discarded'
        ? state
        : (failure?.state ?? (state === 'running' && row.leaseUntil > leaseNow ? 'running' : 'pending')),
    attempts: Math.max(row.attempt, seen),
    receivedAt: new Date(row.receivedAt),
    expiresAt: new Date(row.expiresAt),
    ...defined({ account: about?.account, reason, handledAt: dateOf(isFinal(row) ? handledAt : undefined) }),
    ...(failure && keptOf(failure)),
  }
}

function keptOf({ delivery, ...failure }: NonNullable<EventRow['failure']>): Partial<EventRecord> {
  const { eventId, orderId, rawBody, code, message, group } = delivery
  const { count, replays, firstAt, lastAt, deliveredAt, replayedAt } = failure
  return {
    ...defined({ eventId, orderId }),
    signedAt: new Date(delivery.signedAt),
    secretIndex: delivery.secretIndex,
    size: rawBody.length,
    rawBody: rawBody.slice(),
    failure: {
      ...{ code, message, group, count, replays },
      firstAt: new Date(firstAt),
      lastAt: new Date(lastAt),
      deliveredAt: new Date(deliveredAt),
      ...defined({ lastReplayedAt: dateOf(replayedAt) }),
    },
  }
}

function dateOf(ms: number | undefined): Date | undefined {
  return ms === undefined ? undefined : new Date(ms)
}

function withoutBody({ rawBody, ...record }: EventRecord): EventRecord {
  return record
}

/** @param records of one cause, at least one */
function groupOf(records: readonly EventRecord[]): EventGroup {
  const failures = records.map(({ kind, key, state, failure }) => ({
    kind,
    key,
    state,
    ...(failure as NonNullable<typeof failure>),
  }))
  const latest = failures.reduce((a, b) => {
    const later = b.lastAt.getTime() - a.lastAt.getTime()
    return later > 0 || (later === 0 && b.key > a.key) ? b : a
  })
  const parked = failures.filter(({ state }) => state === 'parked').length
  return {
    group: latest.group,
    count: failures.length,
    failing: failures.length - parked,
    parked,
    replays: failures.reduce((sum, { replays }) => sum + replays, 0),
    firstAt: new Date(Math.min(...failures.map(({ firstAt }) => firstAt.getTime()))),
    lastAt: latest.lastAt,
    kind: latest.kind,
    code: latest.code,
    message: latest.message,
  }
}

/** By their time, and then by their key, byte by byte. */
function compare(a: EventPosition, b: EventPosition): number {
  const later = a.receivedAt.getTime() - b.receivedAt.getTime()
  return later === 0 ? (a.key < b.key ? -1 : a.key > b.key ? 1 : 0) : later
}
