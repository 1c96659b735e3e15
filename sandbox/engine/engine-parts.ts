import type { SignatureOptions } from 'tix-webhooks'
import { RETRY_SCHEDULE } from 'tix-webhooks/testing'
import { isWithin } from '../lib/numbers.js'
import type { Random } from '../lib/random.js'
import type { VirtualClock } from '../time/clock.js'
import type { Chaos } from './dispatcher.js'
import type { Send } from './network/send.js'
import type { Attempt, Delivery, Message } from './record/records.js'
import { retrySchedule } from './schedule.js'

export interface EngineParts {
  readonly clock: VirtualClock
  readonly random: Random
  readonly send: Send
  /** Throws if an endpoint's URL cannot be delivered to. Default: every http and https URL can. */
  readonly checkUrl?: (url: string) => void
  /** The secret of an endpoint that is given none. Default: a new one for each. */
  readonly secret?: string | undefined
  /** How it signs: the receiver's own option. */
  readonly signature?: SignatureOptions
  /** The time of `t`, in milliseconds. Default the real time: retries that are fast-forwarded stay within the tolerance of a receiver. */
  readonly signingNow?: () => number
  /** When it tries, in seconds after the first attempt, which is not in the list. Default RETRY_SCHEDULE of the testing kit. */
  readonly schedule?: readonly number[]
  /** The random part of each gap of the schedule, up to 0.5. Default 0.1. */
  readonly jitter?: number
  /** The timeout of an endpoint's answer, in seconds; 0 for none. Default 15. */
  readonly timeoutSeconds?: number
  /** Whether an attempt without an answer is retried. Default 'retry'. */
  readonly networkErrors?: 'retry' | 'final'
  /** How exact `created_at` is. In seconds, events of one second have the same. Default 'milliseconds'. */
  readonly createdAt?: 'milliseconds' | 'seconds'
  /** One at a time for each endpoint, in their order. Default false: 4 for each endpoint, 32 in all, in no order. */
  readonly serial?: boolean
  /** The scenario requests to send before each scheduled attempt. Default: none. */
  readonly chaos?: Chaos
  /** Called on each change of a delivery: for logs, streams, and the state file. */
  readonly onChange?: (change: SandboxChange) => void
}

export type SandboxChange =
  | { readonly what: 'message'; readonly message: Message }
  /** A new delivery, or one whose status changed without an attempt. */
  | { readonly what: 'delivery'; readonly delivery: Delivery }
  /** The delivery as it is after the attempt. */
  | { readonly what: 'attempt'; readonly delivery: Delivery; readonly attempt: Attempt }
  | { readonly what: 'endpoints' }

/** The parts with their defaults filled in. */
export type EngineSettings = ReturnType<typeof engineSettings>

/** @throws TypeError if an option is invalid */
export function engineSettings(parts: EngineParts) {
  const { clock, random, send, chaos, signature = {}, signingNow = Date.now, jitter = 0.1 } = parts
  const { timeoutSeconds = 15, networkErrors = 'retry', createdAt = 'milliseconds', serial = false } = parts
  if (!isWithin(jitter, 0, 0.5)) throw new TypeError('jitter must be a number from 0 to 0.5.')
  if (!isWithin(timeoutSeconds, 0, Number.MAX_VALUE)) {
    throw new TypeError('timeoutSeconds must be a number of seconds; 0 is no limit.')
  }
  return {
    ...{ clock, random, send, chaos, signature, signingNow, jitter, networkErrors, createdAt, serial },
    schedule: retrySchedule(parts.schedule ?? RETRY_SCHEDULE),
    timeoutMs: timeoutSeconds * 1000,
    checkUrl: parts.checkUrl ?? (() => {}),
    secret: parts.secret,
    onChange: parts.onChange ?? (() => {}),
  }
}
