import { isSuccessStatus } from '../../lib/is-success-status.js'
import { isParked } from '../../lib/outcome-of.js'

/** A message, made once: each attempt of each delivery sends these bytes. */
export interface Message {
  readonly id: string
  readonly mode: string
  readonly type: string
  /** ISO 8601 UTC, virtual time; later than that of each message before. An envelope that was captured has its own in `body`. */
  readonly createdAt: string
  readonly body: string
}

export type DeliveryStatus = 'pending' | 'retrying' | SettledStatus

/** The status of a delivery without further attempts. A scenario's is `passed` or `wrong_answer`. */
export type SettledStatus = 'delivered' | 'failed' | 'skipped' | ScenarioStatus

/** Whether the answers to a scenario were those that it expects. */
type ScenarioStatus = 'passed' | 'wrong_answer'

export const DELIVERY_STATUSES: readonly DeliveryStatus[] = [
  'pending',
  'retrying',
  'delivered',
  'failed',
  'skipped',
  'passed',
  'wrong_answer',
]

/** No delivery of any status. */
export function noDeliveries(): Record<DeliveryStatus, number> {
  return { pending: 0, retrying: 0, delivered: 0, failed: 0, skipped: 0, passed: 0, wrong_answer: 0 }
}

/** A message on its way to one endpoint. */
export interface Delivery {
  readonly id: string
  readonly message: Message
  /** Empty if a scenario sent it to a URL that is not an endpoint. */
  readonly endpointId: string
  /** The name of the scenario that sent it: its status says then whether the answers were right, and no resend changes that. */
  readonly scenario?: string
  readonly status: DeliveryStatus
  /** Why it is failed or skipped, for people. */
  readonly reason?: string
  /** When the first attempt was due, in virtual milliseconds: the schedule counts from it. */
  readonly firstAtMs: number
  /** When the next attempt is due; absent if there is none. */
  readonly nextAtMs?: number
  /** The earliest first. */
  readonly attempts: readonly Attempt[]
}

export interface Attempt {
  readonly id: string
  /** 1 is the first. Of long histories the latest are kept: see `LIMITS`. */
  readonly number: number
  /** `auto` by the schedule, `manual` by a resend, `scenario` by a scenario. */
  readonly trigger: 'auto' | 'manual' | 'scenario'
  /** The name of the scenario. */
  readonly scenario?: string
  /** Virtual and real time, in milliseconds since the epoch. */
  readonly virtualMs: number
  readonly realMs: number
  readonly url: string
  readonly requestHeaders: Readonly<Record<string, string>>
  /** The body that was sent if it is not the message's: at most 64 KiB of it. */
  readonly sentBody?: string
  /** Whether `sentBody` is not exactly what was sent: it was cut, dropped because of its age, or is not UTF-8. */
  readonly inexact?: true
  readonly response?: AttemptResponse
  /** Why there was no answer: `timeout`, `ECONNREFUSED`, `address_refused` and so on. */
  readonly error?: { readonly code: string; readonly message: string }
  readonly durationMs: number
  /** The advice for a failure, or for an event that was parked. */
  readonly hint?: string
}

export interface AttemptResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** The first 64 KiB of the body. Empty, and `truncated`, if it was dropped because of its age; what says `parked` is kept. */
  readonly body: string
  readonly truncated: boolean
}

/** Whether a delivery has come to its end. */
export function isSettled({ status }: Delivery): boolean {
  return status !== 'pending' && status !== 'retrying'
}

/** Whether the receiver keeps the event for a replay: the latest 2xx says so. */
export function isParkedDelivery({ status, attempts }: Pick<Delivery, 'status' | 'attempts'>): boolean {
  if (status !== 'delivered') return false
  const accepted = attempts.filter(
    ({ response }) => response !== undefined && isSuccessStatus(response.status),
  )
  return isParked(accepted.at(-1)?.response)
}

/** Whether a scenario sent it. */
export function isScenario({ scenario }: Pick<Delivery, 'scenario'>): boolean {
  return scenario !== undefined
}
