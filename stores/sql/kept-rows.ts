import type { Failure, FailureGroup, FailureState } from '../../src/index.js'

/** Reads text as a database has kept it. */
export type ReadText = (text: string) => string

/** @param values in the order of the code below */
export function failureIn(values: readonly unknown[], rawBody: Uint8Array, read: ReadText): Failure {
  const text = (position: number): string => read(String(values[position]))
  const number = (position: number): number => Number(values[position])
  const date = (position: number): Date => new Date(number(position))
  const ifAny = <T>(position: number, name: string, of: (position: number) => T) =>
    values[position] === null ? {} : { [name]: of(position) }
  return {
    // Of ASCII alone, so it is kept as it is.
    key: String(values[0]),
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
    rawBody,
  }
}

/** @param values in the order of the code below */
export function groupIn(values: readonly unknown[], read: ReadText): FailureGroup {
  const [group, count, firstMs, lastMs, kind, code, message] = values
  const text = (value: unknown): string => read(String(value))
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
