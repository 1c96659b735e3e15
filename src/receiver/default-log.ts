import { LOG_WINDOW_MS } from '../durations.js'
import { codeOf, isWebhookError } from '../errors.js'
import { callSafely } from '../lib/call-safely.js'
import { causeOf, messageOf } from '../lib/errors/message-of.js'
import { readProperty } from '../lib/errors/read-property.js'
import { redactError } from '../lib/errors/redact-error.js'
import { userFrames } from '../lib/errors/user-frames.js'
import { monotonicMs } from '../lib/time/timers.js'
import type { Delivery } from './delivery.js'
import type { SlotLimits } from './operation/run-slots.js'
import { thrownByUser } from './thrown-by-user.js'

/** The place in an endpoint that a log line is about; unknown parts are left out. */
export interface LogPlace {
  readonly kind?: string
  readonly key?: string
}

/** A line is for a person to read: the values in a message may come from a stranger and be long. */
const MAX_LINE_LENGTH = 1000
const MAX_STACK_LINES = 50
const MAX_CAUSES = 5
/** The most errors that are shown of an AggregateError. */
const MAX_ERRORS = 5
const MAX_PATH_LENGTH = 100

const REPEATS_LOGGED = 3
/** More causes than our own messages have: the others are counted by their code alone. */
const MAX_CAUSES_COUNTED = 100

/** The kinds come from the sender. */
const MAX_UNHANDLED_KINDS = 100
const MAX_KIND_LENGTH = 100

const UNWANTED =
  'There is no handler for this kind: it is answered 200 and dropped. Add one to on, or set onUnhandled; onUnhandled: () => {} if that is intended. Logged once for each kind.'

/**
 * The log of a receiver without `onError`. For errors of the user's code it writes the stack with its causes; for our own errors only the
 * message, because a cause can quote the payload, as the text of a JSON error does. No line has the bound parameters of a database error.
 */
export class DefaultLog {
  private readonly unhandledKinds = new Set<string>()
  /** By cause and account, so that strangers without a header do not hide signatures that do not match. */
  private readonly repeats = new Map<string, Repeated>()

  private overload = { fromMs: Number.NEGATIVE_INFINITY, unlogged: 0 }

  /** @param namespace absent if the user gave none */
  constructor(private readonly namespace: string | undefined) {}

  /** Logs a fault of ours or of the user's code in a delivery of the service: each one. */
  fault(delivery: Delivery, error: unknown, { kind, key }: LogPlace): void {
    const { message, code, thrown } = shownOf(error)
    write(delivery, lineOf([kind, key], message, code), thrown)
  }

  /** Logs a fault in a delivery that was not verified. Anybody can cause it at any rate, so a few a minute are logged. */
  unverifiedFault(delivery: Delivery, error: unknown, account?: string): void {
    const { message, code, thrown } = shownOf(error)
    const cause = isWebhookError(error) ? message : ''
    this.limited(delivery, { message, code, thrown, account, cause, ending: 'failed' })
  }

  /** Logs a refused request. Anybody can send those at any rate, so a few a minute are logged. */
  refusal(delivery: Delivery, error: unknown, account?: string): void {
    const message = messageOf(error)
    this.limited(delivery, { message, code: codeOf(error), account, cause: '', ending: 'refused' })
  }

  /** Logs the first few of a cause in a minute, and then their number. */
  private limited(delivery: Delivery, { message, thrown, cause, ...shown }: Limited): void {
    const { code = '', account, ending } = shown
    const now = monotonicMs()
    const own = `${code} ${account} ${cause}`
    if (!this.repeats.has(own) && this.repeats.size >= MAX_CAUSES_COUNTED) this.forgetPast(delivery, now)
    const key = this.repeats.has(own) || this.repeats.size < MAX_CAUSES_COUNTED ? own : code
    if (isPast(this.repeats.get(key), now)) this.forget(delivery, key)
    // A line that several accounts share names no account.
    const ofOne = key === own ? account : undefined
    const repeated = this.repeats.get(key) ?? { fromMs: now, count: 0, code, account: ofOne, ending }
    this.repeats.set(key, repeated)
    repeated.count += 1
    if (repeated.count > REPEATS_LOGGED) return
    const further = repeated.count === REPEATS_LOGGED ? ' Further ones are counted for a minute.' : ''
    write(delivery, lineOf([pathOf(delivery), this.namespace, account], `${message}${further}`, code), thrown)
  }

  private forgetPast(delivery: Delivery, now: number): void {
    for (const [key, repeated] of this.repeats) if (isPast(repeated, now)) this.forget(delivery, key)
  }

  /** Logs how many were not. */
  private forget(delivery: Delivery, key: string): void {
    const { count = 0, code, account, ending } = this.repeats.get(key) ?? {}
    this.repeats.delete(key)
    if (count <= REPEATS_LOGGED) return
    const others = `… and ${count - REPEATS_LOGGED} more ${ending}.`
    write(delivery, lineOf([this.namespace, account], others, code))
  }

  /** Logs that a delivery was refused because too many run: one line a minute. */
  overloaded(delivery: Delivery, { runs }: SlotLimits, account?: string): void {
    const now = monotonicMs()
    if (now - this.overload.fromMs < LOG_WINDOW_MS) {
      this.overload.unlogged += 1
      return
    }
    const { unlogged } = this.overload
    const others = unlogged > 0 ? ` So were ${unlogged} since the last line.` : ''
    const message = `Too many deliveries at once: as many were running as concurrency allows (runs: ${runs}; without the option, all connections of an inbox's pool but one), or as many of this account. The sender was asked to retry.${others} Logged once a minute.`
    this.overload = { fromMs: now, unlogged: 0 }
    write(delivery, lineOf([pathOf(delivery), this.namespace, account], message, 'too_many_runs'))
  }

  /** Logs that no handler takes this kind: once for each kind, for at most a hundred kinds. */
  unhandled(delivery: Delivery, kind: string): void {
    const known = kind.slice(0, MAX_KIND_LENGTH)
    if (this.unhandledKinds.size >= MAX_UNHANDLED_KINDS || this.unhandledKinds.has(known)) return
    this.unhandledKinds.add(known)
    write(delivery, lineOf([kind], UNWANTED))
  }
}

/** The count of a cause in its minute. */
interface Repeated extends Pick<Limited, 'account' | 'ending'> {
  readonly fromMs: number
  readonly code: string
  count: number
}

function isPast(repeated: Repeated | undefined, now: number): boolean {
  return repeated !== undefined && now - repeated.fromMs >= LOG_WINDOW_MS
}

interface Shown {
  readonly message: string
  readonly code: string | undefined
  readonly thrown?: { readonly error: unknown } | undefined
}

interface Limited extends Shown {
  /** The id of the account: a stranger who forges the webhooks of one must not hide the refusals of another. */
  readonly account: string | undefined
  /** Causes of one code are counted apart. */
  readonly cause: string
  readonly ending: 'failed' | 'refused'
}

function shownOf(error: unknown): Shown {
  const redacted = redactError(error)
  return { message: messageOf(redacted), code: codeOf(redacted), thrown: thrownByUser(redacted) }
}

/** Writes to the framework's logger, which has its own way to show an error; else to the console, with the stack below the line. */
function write(delivery: Delivery, line: string, thrown?: { readonly error: unknown }): void {
  callSafely(() => {
    if (delivery.log !== undefined) delivery.log(line, thrown?.error)
    else console.error(thrown === undefined ? line : [line, ...stackLines(thrown.error)].join('\n'))
  })
}

function pathOf(delivery: Delivery): string | undefined {
  try {
    return delivery.path?.()?.split('?', 1)[0]?.slice(0, MAX_PATH_LENGTH)
  } catch {
    return undefined
  }
}

/** A line break could forge the next log entry; a character that changes the text direction, or has no width, could disguise a line. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]+/gu

/** One line of the log, with all characters visible. It always ends in the code, even if the message is cut. */
function lineOf(place: readonly (string | undefined)[], message: string, code?: string): string {
  const where = place.filter((part) => part !== undefined).join(' ')
  const line = printable(`tix-webhooks: ${where === '' ? '' : `[${where}] `}${message}`)
  return code === undefined ? line : `${line} (${printable(code)})`
}

function printable(line: string): string {
  const shown = line.length > MAX_LINE_LENGTH ? `${line.slice(0, MAX_LINE_LENGTH)}…` : line
  return shown.replace(UNPRINTABLE, ' ')
}

/** The stacks of an error and its causes. Each line is indented, so that its text cannot pass for a log entry. */
function stackLines(error: unknown): string[] {
  const lines: string[] = []
  let current = error
  for (let depth = 0; depth <= MAX_CAUSES && current !== undefined; depth++) {
    const [head = '', ...below] = stackOf(current).split('\n')
    lines.push(
      `    ${depth === 0 ? '' : 'caused by '}${head}`,
      ...[...userFrames(below), ...headsWithin(current)].map((line) => `    ${line}`),
    )
    current = causeOf(current)
  }
  return lines.slice(0, MAX_STACK_LINES).map(printable)
}

/** The first lines of the errors in an AggregateError, such as that of `Promise.any`, or in a SuppressedError. */
function headsWithin(error: unknown): string[] {
  const suppressed = readProperty(error, 'suppressed')
  const found =
    suppressed === undefined ? readProperty(error, 'errors') : [readProperty(error, 'error'), suppressed]
  const errors: unknown[] = Array.isArray(found) ? found : []
  return errors
    .slice(0, MAX_ERRORS)
    .map((one, index) => `    error ${index + 1} of ${errors.length}: ${stackOf(one).split('\n', 1)[0]}`)
}

function stackOf(error: unknown): string {
  const stack = readProperty(error, 'stack')
  return typeof stack === 'string' && stack !== '' ? stack : messageOf(error)
}
