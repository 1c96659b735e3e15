/** What a wrong value is, in words that do not show it. */
export function describeType(value: unknown): string {
  if (value === null) return 'null'
  try {
    if (Array.isArray(value)) return 'an array'
    if (value instanceof Promise) return 'a promise'
  } catch {
    // A proxy that was revoked, or that traps.
  }
  const type = typeof value
  if (type === 'undefined') return 'undefined'
  return /^[aeiou]/.test(type) ? `an ${type}` : `a ${type}`
}

/** A wrong option's value, which is no secret: numbers as they are, strings in quotes, anything else by its type. */
export function describeValue(value: unknown): string {
  if (typeof value === 'number') return String(value)
  return typeof value === 'string' ? JSON.stringify(value) : describeType(value)
}
