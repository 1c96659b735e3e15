import { isWebhookError, type PayloadIssue } from '../../errors.js'
import { withoutCredentials } from '../../lib/errors/credentials.js'
import { causeOf, messageOf } from '../../lib/errors/message-of.js'
import { readProperty } from '../../lib/errors/read-property.js'
import { redactError } from '../../lib/errors/redact-error.js'
import { firstUserFrame } from '../../lib/errors/user-frames.js'
import type { MaybePromise } from '../../lib/maybe-promise.js'
import { whenSettled } from '../../lib/maybe-promise.js'
import { storableText } from '../../lib/storable.js'
import { hmacEngine } from '../../signature/hmac.js'
import { isSignal } from '../outcome.js'
import { thrownByUser } from '../thrown-by-user.js'

/** The end of a delivery, and the kind of its event. */
interface Ended {
  readonly code: string
  readonly error: unknown
  readonly kind: string
}

const MAX_MESSAGE_LENGTH = 1_000
const MAX_CAUSES = 5
const GROUP_LENGTH = 16

/**
 * The message of a failure, with those of its causes, as the default log has them: without the bound parameters of a database, and of our own
 * errors the message alone, because a cause can quote the payload.
 */
export function messageOfFailure(error: unknown): string {
  const redacted = redactError(error)
  const messages = [messageOf(redacted)]
  const thrown = thrownByUser(redacted)
  if (thrown !== undefined && thrown.error !== redacted) messages.push(messageOf(thrown.error))
  let cause = causeOf(thrown?.error)
  for (let depth = 0; depth < MAX_CAUSES && cause !== undefined; depth++) {
    messages.push(messageOf(cause))
    cause = causeOf(cause)
  }
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
  let cause = thrown
  for (let depth = 0; depth <= MAX_CAUSES && cause !== undefined; depth++) {
    const frame = firstUserFrame(cause)
    if (frame !== undefined) return [frame]
    cause = causeOf(cause)
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

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

/** The start of a text, as every backend can store it: the cut may leave half of a surrogate pair. */
export function keptText(text: string, maxLength: number): string {
  return storableText(text.slice(0, maxLength))
}
