import { STATEMENT_MS } from '../durations.js'
import { StoreError } from '../errors.js'
import type { Failure, FailureFilter, FailureQuery, Failures } from '../ledger/failures/failures.js'
import { isMisuse } from '../lib/call-site.js'
import { describeType } from '../lib/describe-type.js'
import { shownMessageOf } from '../lib/errors/shown-message.js'
import { within } from '../lib/time/alarm-clock.js'

/** The conditions that each failure of an answer must meet. */
type Conditions = FailureFilter & Partial<Pick<Failure, 'key'>>

/** @throws StoreError when it cannot be read, or is not the one that was asked for */
export async function readFailure(failures: Failures, key: string): Promise<Failure | undefined> {
  const failure: unknown = await answerOf(async () => failures.get(key))
  return failure === undefined ? undefined : checked(failure, { key })
}

/** @throws StoreError when it cannot be read, or has one that does not match */
export async function readPage(failures: Failures, query: FailureQuery): Promise<readonly Failure[]> {
  const page: unknown = await answerOf(async () => failures.list(query))
  if (!Array.isArray(page)) throw misbehaved(`The list of the failures returned ${describeType(page)}`)
  const { order, before, after, limit, ...conditions } = query
  return page.map((failure) => checked(failure, conditions))
}

/** The answer of the failures, which may be foreign code. */
async function answerOf<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await within(ask(), STATEMENT_MS, () => {
      throw new StoreError('store_unavailable', `it took longer than ${STATEMENT_MS / 1000} s.`)
    })
  } catch (cause) {
    if (isMisuse(cause)) throw cause
    const message = `The failures could not be read, so nothing was replayed: ${shownMessageOf(cause)}`
    throw new StoreError('store_unavailable', message, { cause })
  }
}

/** A replay that fails is kept again, in place of the bytes as they were, and a filter that is ignored would replay every failure. */
function checked(value: unknown, conditions: Conditions): Failure {
  const failure = Object(value) as Readonly<Record<keyof Failure, unknown>>
  const isFailure =
    typeof failure.key === 'string' &&
    typeof failure.namespace === 'string' &&
    (failure.account === undefined || typeof failure.account === 'string') &&
    failure.rawBody instanceof Uint8Array &&
    failure.signedAt instanceof Date &&
    failure.lastAt instanceof Date &&
    Number.isInteger(failure.secretIndex)
  if (!isFailure) {
    throw misbehaved(
      'The failures returned something that is no Failure: rawBody must be a Uint8Array, signedAt and lastAt Dates, and account undefined if there is none',
    )
  }
  for (const [name, wanted] of Object.entries(conditions)) {
    if (failure[name as keyof Conditions] !== wanted)
      throw misbehaved(`The failures returned one with another ${name} than was asked for`)
  }
  return value as Failure
}

function misbehaved(what: string): StoreError {
  return new StoreError('store_misbehaved', `${what}. See Failures.`)
}
