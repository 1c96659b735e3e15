import { withoutCredentials } from './credentials.js'
import { messageOf } from './message-of.js'
import { redactError } from './redact-error.js'

/** The message of an error of a backend, as a log or another error may show it: without bound parameters and credentials. */
export function shownMessageOf(error: unknown): string {
  return withoutCredentials(messageOf(redactError(error)))
}
