import type { EventGroup, EventRecord, EventState } from '../../src/index.js'
import type { Column } from './columns.js'
import { RECORD_COLUMNS } from './reads.js'

/** The values of a row, read by their types: text, numbers, bytes; `null` for NULL. */
export type Row = readonly (string | number | Uint8Array | null)[]

/** @param row in the order of `RECORD_COLUMNS`, then the size of the bytes, the time, and the bytes if they were selected */
export function recordIn(row: Row): EventRecord {
  const valueIn = (column: Column) => row[RECORD_COLUMNS.indexOf(column)] ?? null
  const [size = null, now = null, rawBody = null] = row.slice(RECORD_COLUMNS.length)
  const text = (column: Column): string => String(valueIn(column) ?? '')
  const number = (column: Column): number => Number(valueIn(column) ?? 0)
  const date = (column: Column): Date => new Date(number(column))
  const ifAny = <T>(name: string, column: Column, of: (name: typeof column) => T) =>
    valueIn(column) === null ? {} : { [name]: of(column) }
  const failure = valueIn('failure') as 'failing' | 'parked' | null
  const fails = number('fails')
  const replays = number('replays')
  return {
    key: text('event_key'),
    namespace: text('namespace'),
    ...ifAny('account', 'account', text),
    kind: text('kind'),
    ...ifAny('eventId', 'event_id', text),
    ...ifAny('orderId', 'order_id', text),
    state: stateOf(text('state'), failure, number('lease_until') > Number(now)),
    attempts: Math.max(number('attempt'), fails + replays),
    receivedAt: date('received_at'),
    expiresAt: date('expires_at'),
    ...ifAny('handledAt', 'handled_at', date),
    ...ifAny('reason', 'reason', text),
    ...ifAny('signedAt', 'signed_at', date),
    ...ifAny('secretIndex', 'secret_index', number),
    ...(size === null ? {} : { size: Number(size) }),
    ...(rawBody === null ? {} : { rawBody: rawBody as Uint8Array }),
    ...(failure === null
      ? {}
      : {
          failure: {
            code: text('code'),
            message: text('message'),
            group: text('cause'),
            count: fails,
            firstAt: date('first_at'),
            lastAt: date('failed_at'),
            deliveredAt: date('delivered_at'),
            replays,
            ...ifAny('lastReplayedAt', 'replayed_at', date),
          },
        }),
  }
}

/** An event that fails stays so while it is tried again, until it is handled. */
function stateOf(state: string, failure: 'failing' | 'parked' | null, isLeased: boolean): EventState {
  if (state === 'handled' || state === 'discarded') return state
  return failure ?? (state === 'running' && isLeased ? 'running' : 'pending')
}

export function groupIn(row: Row): EventGroup {
  const [count = 0, parked = 0, replays = 0, firstMs = 0, lastMs = 0] = row.slice(1, 6).map(Number)
  const [kind = '', code = '', message = ''] = row.slice(6).map((text) => String(text ?? ''))
  return {
    group: String(row[0]),
    ...{ count, failing: count - parked, parked, replays },
    ...{ firstAt: new Date(firstMs), lastAt: new Date(lastMs) },
    ...{ kind, code, message },
  }
}
