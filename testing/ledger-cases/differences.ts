import { describeAnswer, isBytes, isDate, MINUTE_MS } from '../store-cases/answers.js'

/** Which are absent from some events, or have a value. */
const OPTIONAL = [
  ...['account', 'eventId', 'orderId', 'handledAt', 'reason', 'signedAt', 'secretIndex', 'size', 'rawBody'],
  ...['failure', 'failure.lastReplayedAt'],
]

/**
 * The differences between an answer and what is expected, one for each field. An absent field may be undefined; further fields are ignored. The dates of an
 * event are compared by the time since it was first seen, because its clock is not known, and to the minute, because a case takes time.
 */
export function differences(answer: unknown, expected: unknown): string[] {
  if (!isObject(expected) || !isObject(answer)) {
    if (answer === expected) return []
    return [`expected ${describeAnswer(expected)}, but it returned ${describeAnswer(answer)}`]
  }
  const [wanted, came] = [fieldsOf(expected), fieldsOf(answer)]
  const isEvent = 'receivedAt' in expected
  return [...new Set([...wanted.keys(), ...(isEvent ? OPTIONAL : [])])]
    .filter((name) => !isSame(sinceStart(came, name), sinceStart(wanted, name)))
    .map(
      (name) =>
        `expected ${name} to be ${describeAnswer(wanted.get(name))}, but it is ${describeAnswer(came.get(name))}`,
    )
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
}

/** The fields, and those of the objects among them, that are not undefined. */
function fieldsOf(value: Readonly<Record<string, unknown>>, prefix = ''): Map<string, unknown> {
  return new Map(
    Object.entries(value).flatMap(([name, one]): [string, unknown][] => {
      if (one === undefined) return []
      if (isObject(one) && !isDate(one) && !isBytes(one))
        return [[`${prefix}${name}`, {}], ...fieldsOf(one, `${prefix}${name}.`)]
      return [[`${prefix}${name}`, one]]
    }),
  )
}

class Since {
  constructor(readonly ms: number) {}
}

/** A date of a ledger as the time since the start of its event; `signedAt` is one of the sender. */
function sinceStart(fields: Map<string, unknown>, name: string): unknown {
  const [value, start] = [fields.get(name), fields.get('receivedAt')]
  return isDate(value) && isDate(start) && name !== 'signedAt'
    ? new Since(value.getTime() - start.getTime())
    : value
}

function isSame(came: unknown, wanted: unknown): boolean {
  if (wanted instanceof Since) return came instanceof Since && Math.abs(came.ms - wanted.ms) < MINUTE_MS
  if (isDate(wanted)) return isDate(came) && came.getTime() === wanted.getTime()
  if (isBytes(wanted)) return isBytes(came) && isSameBytes(came, wanted)
  return came === wanted || (isObject(came) && isObject(wanted))
}

export function isSameBytes(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length && one.every((byte, index) => byte === other[index])
}
