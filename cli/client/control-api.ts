/** The answers of a sandbox's control API, as far as the commands read them. */
export interface SandboxStatus {
  readonly name: string
  readonly version: string
  readonly url: string
  readonly clock: ClockView
  readonly counts: Readonly<Record<'test' | 'live', { events: number; venues: number; orders: number }>>
  readonly deliveries: Readonly<Record<string, number>>
  readonly endpoints: number
  readonly assumptions: Readonly<Record<string, string>>
}

/** The virtual time. */
export interface ClockView {
  readonly now: string
  readonly frozen: boolean
  readonly next_at: string | null
  /** A description of the next event, such as `event evt_… ends`. */
  readonly next_what: string | null
  readonly real_now: string
  /** The attempts that an advance which is under way has made so far. */
  readonly advancing?: AttemptCounts
}

/** How attempts ended. */
interface AttemptCounts {
  readonly delivered: number
  readonly failed: number
}

/** The clock after an advance. */
export interface AdvancedClock extends ClockView {
  readonly from: string
  /** How many jobs were done. */
  readonly ran: number
  readonly attempts: AttemptCounts
  /** The deliveries that were attempted, counted by their result. */
  readonly deliveries: {
    readonly delivered: number
    readonly given_up: number
    readonly retrying: number
    /** The fewest and the most attempts of those that were given up; null if there are none. */
    readonly given_up_after: readonly [number, number] | null
  }
}

/** Where webhooks are sent, with its secrets, the newest first. */
export interface EndpointView {
  readonly id: string
  readonly url: string
  readonly events: readonly string[]
  readonly secrets: readonly string[]
  readonly enabled: boolean
  readonly mode: string
}

/** A message on its way to an endpoint, whole. */
export interface DeliveryView {
  readonly id: string
  readonly type: string
  readonly mode: string
  readonly endpoint: string
  readonly url: string | null
  readonly status: string
  readonly reason?: string
  readonly created_at: string
  readonly first_at: string
  readonly next_at?: string | null
  readonly body: string
  readonly attempts: readonly AttemptView[]
}

/** Some deliveries, and how many there are in all. */
export interface DeliveriesView {
  readonly data: readonly DeliveryView[]
  /** How many match, whatever the limit. */
  readonly matching: number
  /** How many of these no scenario sent. */
  readonly genuine: number
  /** How many no scenario sent that are no longer kept, and of which only the status is known to match. */
  readonly forgotten: number
}

/** A sale, with its tickets. */
export interface OrderView {
  readonly id: string
  readonly event_id: string
  readonly tier: string
  readonly quantity: number
  readonly total_cents: number
  readonly buyer_email: string
  readonly refunded: boolean
  /** Empty if they are no longer kept. */
  readonly tickets: readonly { readonly id: string }[]
}

/** Some orders, and how many there are in all. */
export interface OrdersView {
  readonly data: readonly OrderView[]
  /** How many match, whatever the limit. */
  readonly matching: number
}

/** A fault of the API that was asked for. */
export interface FaultView {
  readonly id: string
  readonly path: string
  readonly method?: string
  readonly status?: number
  readonly delay_ms?: number
  readonly drop?: boolean
  /** How often it still hits; absent if it stays until it is removed. */
  readonly times?: number
  readonly hits: number
}

/** One request, and what became of it. */
export interface AttemptView {
  readonly id: string
  readonly number: number
  readonly trigger: string
  readonly scenario?: string
  readonly virtual_time: string
  readonly real_time: string
  readonly url: string
  readonly request: { readonly headers: Readonly<Record<string, string>>; readonly body?: string }
  readonly response?: AnswerView
  readonly error?: { readonly code: string; readonly message: string }
  readonly duration_ms: number
  readonly hint?: string
}

/** The response that it got. */
export interface AnswerView {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly truncated: boolean
}

/** The result of a trigger. Only a scenario has attempts in it. */
export interface TriggeredView {
  readonly messages: readonly string[]
  readonly deliveries: readonly string[]
  readonly attempts: readonly AttemptView[]
}

/** The result of a resend. */
export interface ResentView {
  /** How many were asked for and not sent, by the reason. */
  readonly left_out: { readonly removed: number; readonly disabled: number; readonly spoilt: number }
  readonly data: readonly { readonly delivery: string; readonly attempt: AttemptView }[]
}

/** The body of a refusal. */
export interface ErrorView {
  readonly error: { readonly code: string; readonly message: string }
}

/** The name by which a sandbox is known from anything else that answers. */
const SANDBOX_NAME = 'tix-webhooks sandbox'

/** Whether it is a sandbox that says this. */
export function isStatus(value: unknown): value is SandboxStatus {
  return isObject(value) && value.name === SANDBOX_NAME && typeof value.version === 'string'
}

/** Whether it says why it refuses. */
export function isRefusal(value: unknown): value is ErrorView {
  return isObject(value) && isObject(value.error) && typeof value.error.message === 'string'
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null
