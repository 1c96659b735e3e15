import { readProperty } from './read-property.js'

/**
 * The message of anything thrown: an error's `message`, or the value as text. Node's error for a host with several addresses,
 * such as `localhost`, has no message, but one error for each address: then it is their messages.
 */
export function messageOf(error: unknown): string {
  try {
    const { message, errors } = (error ?? {}) as { message?: unknown; errors?: unknown }
    if (message === '' && Array.isArray(errors)) return errors.map(ownMessageOf).join('; ')
    return String(message ?? error)
  } catch {
    return 'an unreadable error'
  }
}

/** One level only: an error may contain itself. */
function ownMessageOf(error: unknown): string {
  return String((error as { message?: unknown } | null)?.message ?? error)
}

/** The cause of anything thrown. */
export function causeOf(error: unknown): unknown {
  return readProperty(error, 'cause')
}
