import { REDACTED } from './database-error.js'
import { messageOf } from './message-of.js'
import { redactError } from './redact-error.js'

/** The message of an error of a backend, as a log or another error may show it: without bound parameters and credentials. */
export function shownMessageOf(error: unknown): string {
  return withoutCredentials(messageOf(redactError(error)))
}

/**
 * Credentials as clients and libraries quote them: the user and the password of an address, a signing secret, an `authorization`, and a value
 * that has such a name.
 */
const CREDENTIALS =
  /(?<=:\/\/)[^\s/?#]+(?=@)|\bwhsec_[\w+/=-]+|(?<=\b(?:bearer|basic) )(?=\S*[\d=])[\w.~+/=-]+|(?<=\b(?:password|passwd|pwd|secret|token|access_token|api_?key)=)[^\s&;,'"]+/gi

/** A text without the credentials that an error may quote. */
export function withoutCredentials(text: string): string {
  return text.replace(CREDENTIALS, REDACTED)
}
