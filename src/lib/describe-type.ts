/**
 * Names the type of an invalid value, for a message that must not show the value: it may contain a secret, such as the URL of a server.
 */
export function describeType(value: unknown): string {
  if (value === null) return 'null'
  try {
    if (Array.isArray(value)) return 'an array'
    if (value instanceof Promise) return 'a promise'
  } catch {
    // A revoked proxy, or one that throws.
  }
  const type = typeof value
  if (type === 'undefined') return 'undefined'
  return /^[aeiou]/.test(type) ? `an ${type}` : `a ${type}`
}

/**
 * Shows the invalid value of an option that is not secret: a number as it is, a string in quotes, anything else by its type.
 */
export function describeValue(value: unknown): string {
  if (typeof value === 'number') return String(value)
  return typeof value === 'string' ? JSON.stringify(value) : describeType(value)
}
