import type { FailedDelivery, Failure, FailureGroup } from '../../src/index.js'

/** The failure of one attempt, or with the given fields that of more. */
export function failureOf(failed: FailedDelivery, given: Partial<Failure> = {}): Failure {
  const { failedAt, isReplay: _, parkAfter: __, ...rest } = failed
  return { ...rest, state: 'failing', firstAt: failedAt, lastAt: failedAt, attempts: 1, replays: 0, ...given }
}

/** The differences between an answer and a failure or a group, one for each field. An absent field may be undefined. Further fields are ignored. */
export function differences(answer: unknown, expected: Failure | FailureGroup | undefined): string[] {
  if (expected === undefined) {
    return answer === undefined ? [] : [`expected undefined, but it returned ${describeValue(answer)}`]
  }
  if (typeof answer !== 'object' || answer === null) {
    return [`expected ${describeValue(expected)}, but it returned ${describeValue(answer)}`]
  }
  const wanted = expected as unknown as Record<string, unknown>
  const came = answer as Record<string, unknown>
  const optional = 'key' in expected ? ['account', 'eventId', 'orderId', 'lastReplayedAt'] : []
  return [...new Set([...Object.keys(wanted), ...optional])]
    .filter((name) => !isSame(came[name], wanted[name]))
    .map(
      (name) =>
        `expected ${name} to be ${describeValue(wanted[name])}, but it is ${describeValue(came[name])}`,
    )
}

function isSame(came: unknown, wanted: unknown): boolean {
  if (wanted instanceof Date) return isDate(came) && came.getTime() === wanted.getTime()
  if (wanted instanceof Uint8Array) return isBytes(came) && isSameBytes(came, wanted)
  return came === wanted
}

export function isSameBytes(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length && one.every((byte, index) => byte === other[index])
}

function isDate(value: unknown): value is Date {
  return Object.prototype.toString.call(value) === '[object Date]'
}

function isBytes(value: unknown): value is Uint8Array {
  return Object.prototype.toString.call(value) === '[object Uint8Array]'
}

/** Describes a value so that a wrong type shows. Many bytes are shown by their number. */
export function describeValue(value: unknown): string {
  if (value === undefined) return 'undefined'
  if (typeof value === 'string') return `'${value.length > 300 ? `${value.slice(0, 300)}…` : value}'`
  if (isDate(value)) return Number.isNaN(value.getTime()) ? 'an invalid Date' : `${value.toISOString()}`
  if (isBytes(value))
    return `${value.length} bytes${value.length > 0 && value.length <= 16 ? ` (${value.join(' ')})` : ''}`
  if (typeof value === 'bigint' || typeof value === 'function' || typeof value === 'symbol') {
    return `${typeof value} ${String(value)}`
  }
  if (typeof value !== 'object' || value === null) return String(value)
  if (Array.isArray(value)) {
    return value.length > 3 ? `an array of ${value.length}` : `[${value.map(describeValue).join(', ')}]`
  }
  const fields = Object.entries(value).filter(([, one]) => one !== undefined)
  return `{ ${fields.map(([name, one]) => `${name}: ${describeValue(one)}`).join(', ')} }`
}
