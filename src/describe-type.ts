/** What a wrong value is, in words that do not show it. */
export function describeType(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'an array'
  const type = typeof value
  if (type === 'undefined') return 'undefined'
  return /^[aeiou]/.test(type) ? `an ${type}` : `a ${type}`
}
