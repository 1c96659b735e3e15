import { LOG_WINDOW_MS } from '../durations.js'
import { codeOf, isWebhookError } from '../errors.js'
import { textOf } from '../lib/errors/database-error.js'
import { causesOf, messageOf, readProperty, userFrames } from '../lib/errors/read-error.js'
import { redactError } from '../lib/errors/redact-error.js'
import { callSafely } from '../lib/promises.js'
import { monotonicMs } from '../lib/time/clock.js'
import type { ReachedLimit } from '../operation/run-slots.js'
import type { Delivery } from './delivery.js'
import { thrownByUser } from './failure/cause.js'

/** The delivery that a line is about; what is not known yet is empty or undefined. */
export interface LoggedDelivery {
  readonly delivery: Delivery
  readonly account: string | undefined
  readonly kind: string
  readonly key: string | undefined
  readonly attempt: number | undefined
  /** Of the event, or of the delivery. */
  readonly ageSeconds: number | undefined
  readonly replayed: boolean
}

/** A line is for a person to read: the values in a message may come from a stranger and be long. */
const MAX_LINE_LENGTH = 1000
const MAX_STACK_LINES = 50
/** The most errors that are shown of an AggregateError. */
const MAX_ERRORS = 5
/** The most characters of a path or a kind, so that the message has room: a stranger chooses them. A key is bounded. */
const MAX_NAME_LENGTH = 100

const REPEATS_LOGGED = 3
/** More causes than our own messages have: the others are counted by their code alone. */
const MAX_CAUSES_COUNTED = 100

/** The kinds come from the sender: so many are logged of an account, and of all accounts after the first hundred together. */
const MAX_UNHANDLED_KINDS = 100
const MAX_ACCOUNTS_COUNTED = 100

const UNWANTED =
  'There is no handler for this kind: it is answered 200 and dropped. Add one to on, or set onUnhandled; onUnhandled: () => {} if that is intended. Logged once for each kind.'

/**
 * The log of a receiver without `onError`. For errors of the user's code it writes the stack with its causes; for our own errors only the
 * message, because a cause can quote the payload, as the text of a JSON error does. No line has the bound parameters of a database error.
 */
export class DefaultLog {
  private readonly unhandledKinds = new Set<string>()
  /** How many kinds of an account were logged, so that one with many does not hide those of another. */
  private readonly unhandledByAccount = new Map<string | undefined, number>()
  /** By cause and account, so that strangers without a header do not hide signatures that do not match. */
  private readonly repeats = new Map<string, Repeated>()
  /** The user's functions whose failure was logged. */
  private readonly failedCallbacks = new Set<string>()

  /** @param namespace absent if the user gave none */
  constructor(private readonly namespace: string | undefined) {}

  /** Logs a fault of ours or of the user's code in a delivery of the service: each one. */
  fault(logged: LoggedDelivery, error: unknown): void {
    const { message, code, thrown } = shownOf(error)
    this.write(logged, message, code, thrown)
  }

  /** Logs a fault in a delivery that was not verified. Anybody can cause it at any rate, so a few a minute are logged. */
  unverifiedFault(logged: LoggedDelivery, error: unknown): void {
    const shown = shownOf(error)
    const cause = isWebhookError(error) ? shown.message : ''
    this.limited(logged, { ...shown, account: logged.account, cause, ending: 'failed' })
  }

  /** Logs a refused request. Anybody can send those at any rate, so a few a minute are logged. */
  refusal(logged: LoggedDelivery, error: unknown): void {
    const shown = { message: messageOf(error), code: codeOf(error), account: logged.account }
    this.limited(logged, { ...shown, cause: '', ending: 'refused' })
  }

  /** Logs that a delivery was refused because too many run: one line a minute, for each account at its own limit. */
  overloaded(logged: LoggedDelivery, reached: ReachedLimit, most: number): void {
    const isOwn = reached === 'perAccount'
    const message = isOwn
      ? `Too many deliveries of this account at once: as many were running as concurrency allows an account (perAccount: ${most}; half of the runs by default).`
      : `Too many deliveries at once: as many were running as concurrency allows (runs: ${most}; all connections of an inbox's pool but one by default).`
    this.limited(logged, {
      message,
      code: 'too_many_runs',
      account: isOwn ? logged.account : undefined,
      cause: reached,
      ending: 'refused',
      lines: 1,
    })
  }

  /** Logs that a function of the user's failed whose result does not matter: once for each function. */
  callback(logged: LoggedDelivery, name: string, error: unknown): void {
    if (this.failedCallbacks.has(name)) return
    this.failedCallbacks.add(name)
    const { message, code, thrown } = shownOf(error)
    const advice = 'Logged once; it changes no answer. A method of an object must be wrapped in a function.'
    this.write(logged, `${name} failed. ${advice} It threw or rejected: ${message}`, code, thrown)
  }

  /** Logs that no handler takes this kind: once for each kind, for at most a hundred kinds of an account. */
  unhandled(logged: LoggedDelivery): void {
    const { kind, account } = logged
    const known = kind.slice(0, MAX_NAME_LENGTH)
    const counts = this.unhandledByAccount
    const counted = counts.has(account) || counts.size < MAX_ACCOUNTS_COUNTED ? account : ''
    const count = counts.get(counted) ?? 0
    if (count >= MAX_UNHANDLED_KINDS || this.unhandledKinds.has(known)) return
    counts.set(counted, count + 1)
    this.unhandledKinds.add(known)
    this.write(logged, UNWANTED)
  }

  /** Logs the first few of a cause in a minute, and then their number. */
  private limited(logged: LoggedDelivery, { message, thrown, cause, ...shown }: Limited): void {
    const { code = '', account, ending, lines = REPEATS_LOGGED } = shown
    const now = monotonicMs()
    const own = `${code} ${account} ${cause}`
    if (!this.repeats.has(own) && this.repeats.size >= MAX_CAUSES_COUNTED) this.forgetPast(logged, now)
    const key = this.repeats.has(own) || this.repeats.size < MAX_CAUSES_COUNTED ? own : code
    if (isPast(this.repeats.get(key), now)) this.forget(logged, key)
    // A line that several accounts share names no account.
    const ofOne = key === own ? account : undefined
    const repeated = this.repeats.get(key) ?? { fromMs: now, count: 0, code, account: ofOne, ending, lines }
    this.repeats.set(key, repeated)
    repeated.count += 1
    if (repeated.count > lines) return
    const further = repeated.count === lines ? ' Further ones are counted for a minute.' : ''
    this.write(logged, `${message}${further}`, code, thrown)
  }

  private forgetPast(logged: LoggedDelivery, now: number): void {
    for (const [key, repeated] of this.repeats) if (isPast(repeated, now)) this.forget(logged, key)
  }

  /** Logs how many were not. */
  private forget({ delivery }: LoggedDelivery, key: string): void {
    const { count = 0, code, account, ending, lines = 0 } = this.repeats.get(key) ?? {}
    this.repeats.delete(key)
    if (count <= lines) return
    const others = `… and ${count - lines} more ${ending}.`
    write(delivery, lineOf(joined([this.namespace, account], ' '), others, code))
  }

  private write(logged: LoggedDelivery, message: string, code?: string, thrown?: Shown['thrown']): void {
    write(logged.delivery, lineOf(this.placeOf(logged), message, code), thrown)
  }

  /** Where and what: `/hooks orders acme order.created orders/acme/order.created/ord_3, attempt 3, 2 h old`. */
  private placeOf(logged: LoggedDelivery): string {
    const { delivery, account, kind, key, attempt, replayed } = logged
    const shownKind = kind.slice(0, MAX_NAME_LENGTH)
    const names = joined([pathOf(delivery), this.namespace, account, shownKind, key], ' ')
    const run = [replayed && 'replayed', attempt !== undefined && `attempt ${attempt}`, ageOf(logged)]
    return joined([names, ...run], ', ')
  }
}

/** The count of a cause in its minute. */
interface Repeated extends Pick<Limited, 'account' | 'ending'> {
  readonly fromMs: number
  readonly code: string
  readonly lines: number
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
  /** How many are logged in a minute. */
  readonly lines?: number
}

function shownOf(error: unknown): Shown {
  const redacted = redactError(error)
  const message = `${messageOf(redacted)}${adviceOnText(error)}`
  return { message, code: codeOf(redacted), thrown: thrownByUser(redacted) }
}

/** Writes to the framework's logger, which has its own way to show an error; else to the console, with the stack below the line. */
function write({ log }: Delivery, line: string, thrown?: Shown['thrown']): void {
  const print = (): void =>
    console.error(thrown === undefined ? line : [line, ...stackLines(thrown.error)].join('\n'))
  callSafely(
    () => (log === undefined ? print() : log(line, thrown?.error)),
    () => callSafely(print),
  )
}

/** The path without its query, which may have a secret. */
export function pathOf(delivery: Pick<Delivery, 'path'>): string | undefined {
  try {
    return delivery.path?.()?.split('?', 1)[0]?.slice(0, MAX_NAME_LENGTH)
  } catch {
    return undefined
  }
}

/** How old the event is, or the delivery, in one unit. */
function ageOf(logged: LoggedDelivery): string | undefined {
  try {
    const { ageSeconds } = logged
    if (ageSeconds === undefined) return undefined
    const seconds = Math.max(0, Math.round(ageSeconds))
    const [unit, size] = AGE_UNITS.find(([, each]) => seconds >= 2 * each) ?? ['s', 1]
    return `${Math.floor(seconds / size)} ${unit} old`
  } catch {
    // The clock may be the user's.
    return undefined
  }
}

/** The largest of which there are two. */
const AGE_UNITS: readonly [string, number][] = [
  ['days', 86_400],
  ['h', 3_600],
  ['min', 60],
]

function joined(parts: readonly (string | false | undefined)[], by: string): string {
  return parts.filter((part) => part !== undefined && part !== false && part !== '').join(by)
}

/** A line break could forge the next log entry; a character that changes the text direction, or has no width, could disguise a line. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]+/gu

/** One line of the log, with all characters visible. It always ends in the code, even if the message is cut. */
export function lineOf(place: string, message: string, code?: string): string {
  const line = printable(`tix-webhooks: ${place === '' ? '' : `[${place}] `}${message}`)
  return code === undefined ? line : `${line} (${printable(code)})`
}

function printable(line: string): string {
  const shown = line.length > MAX_LINE_LENGTH ? `${line.slice(0, MAX_LINE_LENGTH)}…` : line
  return shown.replace(UNPRINTABLE, ' ')
}

/** The stacks of an error and its causes. Each line is indented, so that its text cannot pass for a log entry. */
function stackLines(error: unknown): string[] {
  const lines = causesOf(error).flatMap((cause, depth) => {
    const [head = '', ...below] = stackOf(cause).split('\n')
    return [`${depth === 0 ? '' : 'caused by '}${head}`, ...userFrames(below), ...headsWithin(cause)]
  })
  return lines.slice(0, MAX_STACK_LINES).map((line) => printable(`    ${line}`))
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

/** Postgres, in `jsonb`: of half of a surrogate pair only the detail says more than that the JSON is invalid. MySQL says it in its message. */
const SAYS = /unsupported Unicode escape|invalid byte sequence for encoding|surrogate/i
/** The SQLSTATEs of the first two, whose messages may be in another language. */
const CODES = /^(22P05|22021)$/

/** What to do about a text that a database has refused; empty for any other error. A library may have wrapped that of the database. */
function adviceOnText(error: unknown): string {
  const refuses = causesOf(error).some((cause) => {
    const texts = [messageOf(cause), textOf(readProperty(cause, 'detail'))]
    return CODES.test(textOf(readProperty(cause, 'code'))) || texts.some((text) => SAYS.test(text))
  })
  return refuses
    ? ' A text has NUL or half of a surrogate pair, which the database refuses at each retry: write storable(value), exported by tix-webhooks.'
    : ''
}
