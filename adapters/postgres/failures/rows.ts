import type { FailedDelivery, Failure, FailureGroup, FailureState, StoreError } from '../../../src/index.js'
import { asciiJson, bytesIn, hexOf, type Texts } from './texts.js'

export interface Reader {
  readonly texts: Texts
  misread(): StoreError
}

/** @param values in the order in which `statements.ts` selects them */
export function failureIn(values: readonly unknown[], body: unknown, { texts }: Reader): Failure {
  const text = (position: number): string => texts.read(String(values[position]))
  const number = (position: number): number => Number(values[position])
  const date = (position: number): Date => new Date(number(position))
  const ifAny = <T>(position: number, name: string, read: (position: number) => T) =>
    values[position] === null ? {} : { [name]: read(position) }
  return {
    key: text(0),
    namespace: text(1),
    ...ifAny(2, 'account', text),
    kind: text(3),
    ...ifAny(4, 'eventId', text),
    ...ifAny(5, 'orderId', text),
    signedAt: date(6),
    secretIndex: number(7),
    group: text(8),
    code: text(9),
    message: text(10),
    state: text(11) as FailureState,
    firstAt: date(12),
    lastAt: date(13),
    attempts: number(14),
    replays: number(15),
    ...ifAny(16, 'lastReplayedAt', date),
    rawBody: bytesIn(body),
  }
}

export function groupIn(values: readonly unknown[], _body: unknown, { texts }: Reader): FailureGroup {
  const [group, count, firstMs, lastMs, kind, code, message] = values
  const text = (value: unknown): string => texts.read(String(value))
  return {
    group: text(group),
    count: Number(count),
    firstAt: new Date(Number(firstMs)),
    lastAt: new Date(Number(lastMs)),
    kind: text(kind),
    code: text(code),
    message: text(message),
  }
}

/** A value that is absent is null, and so is a number of attempts that is never reached. */
export function parametersOf(failed: FailedDelivery, { write }: Texts): [details: string, body: string] {
  const { account, eventId, orderId, parkAfter = {} } = failed
  const ifAny = (text: string | undefined): string | null => (text === undefined ? null : write(text))
  const details = {
    key: failed.key,
    namespace: write(failed.namespace),
    account: ifAny(account),
    kind: write(failed.kind),
    event_id: ifAny(eventId),
    order_id: ifAny(orderId),
    signed_at: isoOf(failed.signedAt.getTime()),
    secret_index: failed.secretIndex,
    cause: write(failed.group),
    code: write(failed.code),
    message: write(failed.message),
    failed_at: isoOf(failed.failedAt.getTime()),
    replays: failed.isReplay ? 1 : 0,
    park_attempts: parkAfter.attempts,
    park_ms: parkAfter.ms,
  }
  return [asciiJson(details), hexOf(failed.rawBody)]
}

/** Within the years that Postgres reads: a clock that is wrong must lose no failure. */
export function isoOf(ms: number): string {
  return new Date(Math.min(Math.max(ms, FIRST_DATE), LAST_DATE)).toISOString()
}

const FIRST_DATE = Date.parse('0001-01-01T00:00:00Z')
const LAST_DATE = Date.parse('9999-12-31T23:59:59.999Z')
