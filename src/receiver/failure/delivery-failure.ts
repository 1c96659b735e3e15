import { MIN_RETENTION_SECONDS } from '../../durations.js'
import { isJsonObject, type UnknownEvent } from '../../event/events.js'
import { keyOfBytes } from '../../event/key.js'
import type { FailedDelivery, ParkTerms } from '../../ledger/failure.js'
import type { WorkEnd } from '../../ledger/guard.js'
import { defined } from '../../lib/defined.js'
import { type MaybePromise, whenSettled } from '../../lib/promises.js'
import type { OutcomeCode, OutcomeName } from '../outcome.js'
import { groupOf, keptText, messageOfFailure } from './cause.js'

/** What a receiver keeps of a failed delivery, in a ledger. */
export interface FailureTerms {
  readonly parkAfter: ParkTerms | undefined
  readonly namespace: string
}

/** The part of a delivery that its failure needs. */
interface FailingDelivery {
  readonly kind: string
  /** Whether its handler was called. */
  readonly hasBegun: boolean
  readonly key: string | undefined
  /** Whether the event is to run without deduplication. */
  readonly isKeyless: boolean
  readonly account: string | undefined
  /** Present for a replay. */
  readonly replay: object | undefined
}

/**
 * How a delivery ends before its handler is called if that is due to its event, or to the app. Anything else says nothing about the event,
 * whatever the error is called: a backend is down, or nothing has run in time. That passes.
 */
const KEPT_BEFORE_RUN: ReadonlySet<string> = new Set<OutcomeName>(['unprocessable', 'misconfigured'])
/** The same once its handler was called. */
const KEPT_OUTCOMES: ReadonlySet<string> = new Set([...KEPT_BEFORE_RUN, 'failed', 'retry_later'])
/** Failures of other outcomes that are kept: a run that never ended, and an inbox that would refuse the handler's writes again. */
const KEPT_CODES: ReadonlySet<string | undefined> = new Set<OutcomeCode>([
  'given_up',
  'rolled_back',
  'misconfigured',
])

/** The longest text that is looked for. */
const MAX_TEXT_LENGTH = 255

/** The failure of one authentic delivery. */
export class DeliveryFailure {
  private readonly bytes: Pick<FailedDelivery, 'rawBody' | 'signedAt' | 'secretIndex'>
  private ids: Pick<FailedDelivery, 'eventId' | 'orderId'> = {}

  /**
   * Copies what is to be kept, as it was sent: a handler may change its own, or give the bytes to another thread.
   *
   * @param replayedKey the key of the event that is replayed, as it is kept
   */
  constructor(
    private readonly terms: FailureTerms,
    private readonly state: FailingDelivery,
    { rawBody, signedAt, secretIndex }: Pick<FailedDelivery, 'rawBody' | 'signedAt' | 'secretIndex'>,
    private readonly replayedKey?: string,
  ) {
    this.bytes = { rawBody: new Uint8Array(rawBody), signedAt: new Date(signedAt), secretIndex }
  }

  /** To be called once the envelope is read, before the user's code gets it. */
  isAbout({ id, data }: UnknownEvent): void {
    this.ids = defined({ eventId: idOf(id) ?? idOf(idIn(data.event)), orderId: idOf(idIn(data.order)) })
  }

  /**
   * The failure for a ledger to keep; `undefined` if it is not one that is kept.
   *
   * @param retainMs how long events are kept. One that has no key yet is kept for so much less that a replay of it finds the record of the
   * event, should a later delivery have been handled
   */
  describe(end: WorkEnd, retainMs: number): MaybePromise<FailedDelivery | undefined> {
    const { state, terms, replayedKey } = this
    if (!this.isKept(end)) return undefined
    const key = state.key ?? replayedKey
    if (key !== undefined) return this.described(key, end, retainMs)
    const keptMs = retainMs - MIN_RETENTION_SECONDS * 1000
    if (keptMs <= 0) return undefined
    return keyOfBytes(this.bytes.rawBody, terms.namespace, state.account).then((ofBytes) =>
      this.described(ofBytes, end, keptMs),
    )
  }

  /** Whether a delivery that ends so is kept. Not without a key: nothing would clear its failure. */
  isKept({ outcome, code }: WorkEnd): boolean {
    if (this.state.isKeyless) return false
    if (!this.state.hasBegun) return KEPT_BEFORE_RUN.has(outcome)
    return KEPT_OUTCOMES.has(outcome) || KEPT_CODES.has(code)
  }

  private described(
    key: string,
    { outcome, code = outcome, error }: WorkEnd,
    retainMs: number,
  ): MaybePromise<FailedDelivery> {
    const { namespace, parkAfter } = this.terms
    const { account, kind, replay } = this.state
    return whenSettled(groupOf({ code, error, kind }), (group) => ({
      ...{ key, namespace, kind: keptText(kind, MAX_TEXT_LENGTH), code, group, retainMs },
      ...defined({ account, parkAfter }),
      ...this.ids,
      ...this.bytes,
      message: messageOfFailure(error),
      isReplay: replay !== undefined,
    }))
  }
}

function idIn(value: unknown): unknown {
  return isJsonObject(value) ? value.id : undefined
}

/** An id that can be looked for. */
function idOf(value: unknown): string | undefined {
  if (typeof value !== 'string' || value === '' || value.length > MAX_TEXT_LENGTH) return undefined
  return keptText(value, MAX_TEXT_LENGTH) === value ? value : undefined
}
