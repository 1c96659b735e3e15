import { isWebhookError, type WebhookError } from '../errors.js'

/**
 * The error that the user's own code threw: the error itself, or the cause of our error that names the function. `undefined` for an error of
 * ours: its message says what to do, and its cause may quote the payload.
 */
export function thrownByUser(error: unknown): { readonly error: unknown } | undefined {
  if (!isWebhookError(error)) return { error }
  return isOfUsers(error) && error.cause !== undefined ? { error: error.cause } : undefined
}

function isOfUsers(error: WebhookError): boolean {
  try {
    return (
      error.name === 'UnavailableError' ||
      ['misconfigured', 'handler_failed', 'rolled_back'].includes(error.code)
    )
  } catch {
    // A proxy that throws.
    return false
  }
}
