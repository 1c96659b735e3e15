/**
 * Names the type of an invalid value, for a message that must not show the value: it may contain a secret, such as the URL of a server.
 *
 * @example
 * ```ts
 * import { describeType } from 'tix-webhooks/store-kit'
 *
 * export function checkClient(client: unknown): void {
 *   if (typeof client === 'function') return
 *   throw new TypeError(`client must be a function, not ${describeType(client)}.`) // such as: not a string.
 * }
 * ```
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
 *
 * @example
 * ```ts
 * import { describeValue } from 'tix-webhooks/store-kit'
 *
 * export function checkMode(mode: unknown): void {
 *   if (mode === 'safe' || mode === 'fast') return
 *   throw new TypeError(`mode must be 'safe' or 'fast', not ${describeValue(mode)}.`)
 * }
 * ```
 */
export function describeValue(value: unknown): string {
  if (typeof value === 'number') return String(value)
  return typeof value === 'string' ? JSON.stringify(value) : describeType(value)
}
