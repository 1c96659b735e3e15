import { codeOf, isWebhookError, type PayloadIssue } from '../../errors.js'
import { textOf } from '../../lib/errors/database-error.js'
import { causeOf, causesOf, firstUserFrame, messageOf, readProperty } from '../../lib/errors/read-error.js'
import { redactError, withoutCredentials } from '../../lib/errors/redact-error.js'
import { type MaybePromise, whenSettled } from '../../lib/promises.js'
import { storableText } from '../../lib/storable.js'
import { hmacEngine } from '../../signature/hmac.js'
import { isSignal } from '../outcome.js'

/** The end of a delivery, and the kind of its event. */
interface Ended {
  readonly code: string
  readonly error: unknown
  readonly kind: string
}

const MAX_MESSAGE_LENGTH = 1_000
const GROUP_LENGTH = 16
/** Of our errors whose cause is one of the user's. */
const USERS_CODES = ['misconfigured', 'handler_failed', 'rolled_back']

/**
 * The message of a failure, with those of its causes, as the default log has them: without the bound parameters of a database, and of our own
 * errors the message alone, because a cause can quote the payload.
 */
export function messageOfFailure(error: unknown): string {
  const redacted = redactError(error)
  const causes = causesOf(thrownByUser(redacted)?.error).filter((cause) => cause !== redacted)
  const messages = [redacted, ...causes].map(messageOf)
  const text = messages.join('; caused by: ').slice(0, 2 * MAX_MESSAGE_LENGTH)
  return keptText(withoutCredentials(text), MAX_MESSAGE_LENGTH)
}

/**
 * The group of a failure: the same for all that one bug causes. By the code, the name and the code of the error, and the first frame of the
 * user's own code; an error without such a frame, as that of a client of a database, by what else is the same each time.
 */
export function groupOf({ code, error, kind }: Ended): MaybePromise<string> {
  // The reason of a RetryLater is the user's, and may be another one for each event.
  const thrown = isSignal(error) ? error : thrownByUser(error)?.error
  const names = ['name', 'code'].map((name) => textOf(readProperty(thrown ?? error, name)))
  const parts = [code, ...names, ...placeOf(thrown, error, kind)]
  return whenSettled(hmacEngine().sha256Hex(JSON.stringify(parts)), (digest) => digest.slice(0, GROUP_LENGTH))
}

function placeOf(thrown: unknown, error: unknown, kind: string): readonly string[] {
  for (const cause of causesOf(thrown)) {
    const frame = firstUserFrame(cause)
    if (frame !== undefined) return [frame]
  }
  // A list has a problem for each of its elements.
  const paths = issuesOf(error).map(({ path }) =>
    path.flatMap((part) => (typeof part === 'number' ? [] : [String(part)])).join('.'),
  )
  // Our own words on what a handler returned, or that it was too slow, are the same each time.
  const ours = thrown === undefined && paths.length === 0 ? [messageOf(error)] : []
  return [kind, ...ours, ...new Set(paths)]
}

function issuesOf(error: unknown): readonly PayloadIssue[] {
  const issues = isWebhookError(error) ? readProperty(error, 'issues') : undefined
  return Array.isArray(issues) ? issues : []
}

/** The start of a text, as every backend can store it: the cut may leave half of a surrogate pair. */
export function keptText(text: string, maxLength: number): string {
  return storableText(text.slice(0, maxLength))
}

/**
 * The error that the user's own code threw: the error itself, or the cause of our error that names the function. `undefined` for an error of
 * ours: its message says what to do, and its cause may quote the payload.
 */
export function thrownByUser(error: unknown): { readonly error: unknown } | undefined {
  if (!isWebhookError(error)) return { error }
  const cause = causeOf(error)
  const isOfUsers =
    readProperty(error, 'name') === 'UnavailableError' || USERS_CODES.includes(codeOf(error) ?? '')
  return isOfUsers && cause !== undefined ? { error: cause } : undefined
}
