import { BodyError, ConfigurationError, isWebhookError } from '../../errors.js'
import { describeType } from '../../lib/describe-type.js'
import { textOf } from '../../lib/errors/database-error.js'
import { readProperty } from '../../lib/errors/read-error.js'
import { callSafely, type MaybePromise } from '../../lib/promises.js'
import type { AlarmClock } from '../../lib/time/alarm-clock.js'

/**
 * Reads a request's exact bytes and stops at `maxBytes`. It rejects with a `BodyError` of code `too_large` over the limit, and with a
 * `ConfigurationError` (code `misconfigured`) if the body was already consumed; any other rejection means that the client did not send all
 * of it.
 */
export interface BodyReader {
  (maxBytes: number): Promise<Uint8Array>
  /** Called when the deadline passes during the read, so that it can free its resources. */
  cancel?(): void
  /** Called when the deadline passes during the read, before `cancel`: whether something on our side is blocking the stream. */
  isHeldUp?(): boolean
  /** Called when the signature does not match: whether the client disconnected, so that the body may be incomplete. */
  isCutOff?(): boolean | Promise<boolean>
}

/**
 * The bytes of a delivery, at most `maxBytes`, before the deadline.
 *
 * @throws BodyError `too_large`, or `body_incomplete` when the client disconnected or was too slow
 * @throws ConfigurationError when the body was already consumed, or is not bytes
 */
export function readBody(
  body: Uint8Array | BodyReader,
  maxBytes: number,
  clock: AlarmClock,
): MaybePromise<Uint8Array> {
  return typeof body === 'function' ? callReader(body, maxBytes, clock) : checked(body, maxBytes)
}

/** Returns the fault that a delivery ends with: `body_incomplete` if the signature does not match because the client went away. */
export function incompleteIfCutOff(
  fault: unknown,
  delivery: { readonly body: Uint8Array | BodyReader },
  clock: AlarmClock,
): MaybePromise<unknown> {
  if (!isWebhookError(fault) || fault.code !== 'signature_mismatch') return fault
  const { body } = delivery
  if (typeof body !== 'function') return fault
  const isCutOff = (async () => (await body.isCutOff?.()) === true)().catch(() => false)
  return clock.inTime(isCutOff, () => false).then((isSo) => (isSo ? wentAway(fault) : fault))
}

function checked(bytes: Uint8Array, maxBytes: number): Uint8Array {
  if (!(bytes instanceof Uint8Array)) {
    throw notBytes('The body must be the exact bytes as a Uint8Array', bytes)
  }
  checkLength(bytes.length, maxBytes)
  return bytes
}

async function callReader(reader: BodyReader, maxBytes: number, clock: AlarmClock): Promise<Uint8Array> {
  let bytes: Uint8Array
  try {
    // Called before the first await: a stream that already flows would lose its first bytes.
    bytes = await clock.inTime(Promise.resolve(reader(maxBytes)), () => tooLate(reader))
  } catch (error) {
    throw asBodyFault(error, maxBytes)
  }
  return checked(bytes, maxBytes)
}

/** @throws BodyError in any case */
function tooLate(reader: BodyReader): never {
  let isHeldUp = false
  callSafely(() => {
    isHeldUp = reader.isHeldUp?.() === true
  })
  callSafely(() => reader.cancel?.())
  throw new BodyError(
    'body_incomplete',
    isHeldUp
      ? "The body had not been read whole at the deadline (timeoutSeconds): something in this app has paused the request, or listens for its 'readable' event. Mount the webhook route before it."
      : 'The client was too slow: its body had not arrived whole at the deadline (timeoutSeconds).',
  )
}

/** The reader may be foreign code: only its error's `code` counts. */
function asBodyFault(error: unknown, maxBytes: number): unknown {
  const code = readProperty(error, 'code')
  if (isWebhookError(error) && BODY_CODES.includes(code)) return error
  if (code === 'too_large') return tooLarge(maxBytes, error)
  if (code !== 'misconfigured') return wentAway(error)
  const message = textOf(readProperty(error, 'message')) || 'The body cannot be read: it was consumed before.'
  return new ConfigurationError(message, { cause: error })
}

const BODY_CODES: readonly unknown[] = ['too_large', 'misconfigured', 'body_incomplete']

/** Throws unless a chunk of a streamed body is bytes: the `length` of a string, for example, does not count bytes. */
export function checkChunk(chunk: unknown): asserts chunk is Uint8Array {
  if (!(chunk instanceof Uint8Array)) {
    throw notBytes('The stream of the body must bring chunks of bytes (Uint8Array)', chunk)
  }
}

function notBytes(rule: string, found: unknown): ConfigurationError {
  return new ConfigurationError(
    `${rule}, not ${describeType(found)}: pass what was received, before any parser.`,
  )
}

/** Throws `too_large` for a body, or the part of it that has arrived, that is over the limit. */
export function checkLength(length: number, maxBytes: number): void {
  if (length > maxBytes) throw tooLarge(maxBytes)
}

/** The error of a reader over the limit. */
function tooLarge(maxBytes: number, cause?: unknown): BodyError {
  return new BodyError(
    'too_large',
    `The body is larger than ${maxBytes} bytes: raise maxBodyBytes if the service really sends such events.`,
    cause === undefined ? {} : { cause },
  )
}

/** The error of a reader whose client disconnected. */
export function wentAway(cause: unknown): BodyError {
  return new BodyError(
    'body_incomplete',
    'The body did not arrive whole: the client went away, or a layer before this one could not read it to its end.',
    { cause },
  )
}

/** The error of a reader whose body was already read. */
export function alreadyRead(advice: string): ConfigurationError {
  return new ConfigurationError(
    `The request body was already read, so its exact bytes are gone and the signature cannot be checked. ${advice}`,
  )
}
