import { isWholeWithin } from '../lib/numbers.js'
import { checkOptionNames } from '../lib/option-names.js'
import { Random } from '../lib/random.js'

/** A deliberate fault of the API, to test how your own client reacts. */
export interface NewFault {
  /** Requests whose path begins with this, such as `/v2/events`. */
  path: string
  /** Requests of this method alone, such as `POST`. Default: every method. */
  method?: string
  /** Answers this error in the service's form, and does nothing else: 400, 401, 403, 404, 409, 429, or 500 to 599. */
  status?: number
  /** How much later the answer comes, in milliseconds of real time: 1 to 600,000. Without `status` and `drop` the request is done, and its answer is late. */
  delayMs?: number
  /** Closes the connection without an answer, and does nothing else. Default false. */
  drop?: boolean
  /** How many requests it hits. Default: each, until it is removed. */
  times?: number
}

/** A fault that is in force. */
export interface ApiFault extends Readonly<NewFault> {
  /** `flt_…`. */
  readonly id: string
  /** How many requests it has hit so far. */
  readonly hits: number
}

/** A request that a fault hits. */
export interface FaultHit {
  readonly fault: ApiFault
  /** Aborts when the fault is removed: nothing waits for it any more. */
  readonly removed: AbortSignal
}

const MAX_FAULTS = 100
const MAX_DELAY_MS = 600_000
const MAX_TIMES = 1_000_000
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']
const REFUSALS = [400, 401, 403, 404, 409, 429]

const FAULT_OPTIONS: readonly (keyof NewFault)[] = ['path', 'method', 'status', 'delayMs', 'drop', 'times']

interface Kept {
  fault: ApiFault
  readonly removal: AbortController
}

/** The faults in force. Of several that match a request the oldest hits it, so that a sequence can be made with `times`. */
export class ApiFaults {
  readonly #onChange: () => void
  // A generator of its own, because the ids of the service must not depend on faults.
  readonly #random = new Random()
  #kept: Kept[] = []
  /** The faults that are used up, but may still delay a request. */
  #usedUp: Kept[] = []

  constructor(onChange: () => void) {
    this.#onChange = onChange
  }

  /** @throws TypeError that says what is wrong with it */
  add(fault: NewFault): ApiFault {
    if (this.#kept.length >= MAX_FAULTS) {
      throw new TypeError(`There are ${MAX_FAULTS} faults, which is the most: remove some.`)
    }
    const added = { id: this.#random.id('flt_'), ...checked(fault), hits: 0 }
    this.#kept.push({ fault: added, removal: new AbortController() })
    this.#onChange()
    return { ...added }
  }

  /** The oldest first. */
  list(): readonly ApiFault[] {
    return this.#kept.map(({ fault }) => ({ ...fault }))
  }

  /** @returns false if no fault has this id */
  remove(id: string): boolean {
    const kept = this.#kept.find(({ fault }) => fault.id === id)
    if (kept === undefined) return false
    this.#kept = this.#kept.filter((one) => one !== kept)
    kept.removal.abort()
    this.#onChange()
    return true
  }

  clear(): void {
    for (const { removal } of [...this.#kept, ...this.#usedUp]) removal.abort()
    this.#kept = []
    this.#usedUp = []
    this.#onChange()
  }

  /** Finds the fault that hits a request, and counts it. */
  hit(method: string, path: string): FaultHit | undefined {
    const kept = this.#kept.find(
      ({ fault }) => path.startsWith(fault.path) && (fault.method ?? method) === method,
    )
    if (kept === undefined) return undefined
    const { times, hits } = kept.fault
    kept.fault = { ...kept.fault, hits: hits + 1, ...(times !== undefined && { times: times - 1 }) }
    if (times === 1) {
      this.#kept = this.#kept.filter((one) => one !== kept)
      // Beyond this number, a reset does not end the requests that wait longest.
      this.#usedUp = [...this.#usedUp, kept].slice(-MAX_FAULTS)
    }
    this.#onChange()
    return { fault: kept.fault, removed: kept.removal.signal }
  }
}

/** @throws TypeError that says what is wrong with it */
function checked(fault: NewFault): NewFault {
  const { path, method, status, delayMs, drop = false, times } = checkOptionNames(fault, FAULT_OPTIONS)
  if (typeof path !== 'string' || !/^\/v2(?:\/[^?#\s]*)?$/.test(path)) {
    throw new TypeError(
      'path must be the beginning of a path of the API, without a query: /v2, or such as /v2/events.',
    )
  }
  const upper = typeof method === 'string' ? method.toUpperCase() : method
  if (upper !== undefined && !METHODS.includes(upper)) {
    throw new TypeError(`method must be one of ${METHODS.join(', ')}; leave it out for all of them.`)
  }
  if (status !== undefined && !REFUSALS.includes(status) && !isWholeWithin(status, 500, 599)) {
    throw new TypeError(`status must be ${REFUSALS.join(', ')}, or 500 to 599.`)
  }
  if (delayMs !== undefined && !isWholeWithin(delayMs, 1, MAX_DELAY_MS)) {
    throw new TypeError(
      `The delay must be from 1 to ${MAX_DELAY_MS} whole milliseconds: at most ten minutes.`,
    )
  }
  if (typeof drop !== 'boolean') throw new TypeError('drop must be true or false.')
  if (times !== undefined && !isWholeWithin(times, 1, MAX_TIMES)) {
    throw new TypeError(
      `times must be a whole number from 1 to ${MAX_TIMES}; leave it out for a fault that stays until it is removed.`,
    )
  }
  if (drop && status !== undefined) {
    throw new TypeError('A connection that is dropped has no status: give drop or status, not both.')
  }
  if (!drop && status === undefined && delayMs === undefined) {
    throw new TypeError('This fault does nothing: give it a status, a delay or drop.')
  }
  return {
    path,
    ...(upper !== undefined && { method: upper }),
    ...(status !== undefined && { status }),
    ...(delayMs !== undefined && { delayMs }),
    ...(drop && { drop }),
    ...(times !== undefined && { times }),
  }
}
