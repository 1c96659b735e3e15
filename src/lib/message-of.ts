/**
 * The message of anything thrown: an error's `message`, or the value as text.
 *
 * @example
 * ```ts
 * import { StoreError } from 'tix-webhooks'
 * import { messageOf } from 'tix-webhooks/store-kit'
 *
 * function unavailable(cause: unknown): StoreError {
 *   const advice = /ECONNREFUSED/.test(messageOf(cause)) ? 'Nothing listens at its port: is it up?' : 'See the cause.'
 *   return new StoreError('store_unavailable', advice, { cause })
 * }
 * ```
 */
export function messageOf(error: unknown): string {
  try {
    return String((error as { message?: unknown } | null | undefined)?.message ?? error)
  } catch {
    return 'an unreadable error'
  }
}
