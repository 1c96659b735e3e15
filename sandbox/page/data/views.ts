/** The part of the control API's answer that the page reads. */
export interface State {
  readonly status: {
    readonly version: string
    readonly counts: { readonly test: { readonly orders: number } }
    readonly deliveries: Readonly<Record<Status, number>>
    readonly assumptions: { readonly signature: 'dot' | 'concat' | 'body' }
  }
  readonly clock: ClockView
  readonly next_attempt: { readonly delivery: string; readonly at: string } | null
  readonly endpoints: readonly EndpointView[]
  readonly deliveries: readonly Brief[]
  /** How many there are by the filter, whatever the limit. */
  readonly matching: number
  readonly requests: readonly RequestView[]
  readonly events: readonly EventView[]
  readonly faults: readonly FaultView[]
}

export const STATUSES = ['pending', 'retrying', 'delivered', 'failed', 'skipped'] as const
export type Status = (typeof STATUSES)[number]

export interface ClockView {
  readonly now: string
  readonly frozen: boolean
  readonly next_at: string | null
  readonly next_what: string | null
  /** The attempts that an advance which is under way has made so far. */
  readonly advancing?: { readonly delivered: number; readonly failed: number }
}

/** An endpoint; the newest secret first. */
export interface EndpointView {
  readonly id: string
  readonly url: string
  readonly events: readonly string[]
  readonly secrets: readonly string[]
  readonly enabled: boolean
  readonly mode: string
}

interface DeliveryHead {
  readonly id: string
  readonly type: string
  readonly mode: string
  readonly endpoint: string
  readonly url: string | null
  readonly status: Status
  readonly reason?: string
  readonly created_at: string
  readonly first_at: string
  readonly next_at?: string
}

/** A delivery as a line of the list. */
export interface Brief extends DeliveryHead {
  readonly attempts: number
  readonly last?: {
    readonly attempt: string
    readonly scenario?: string
    /** Whether a scenario got what it is owed. */
    readonly is_right?: boolean
    readonly status?: number
    readonly error?: string
  }
}

export interface DeliveryView extends DeliveryHead {
  readonly body: string
  readonly attempts: readonly AttemptView[]
}

export interface AttemptView {
  readonly id: string
  readonly number: number
  readonly trigger: 'auto' | 'manual' | 'scenario'
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

interface AnswerView {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly truncated: boolean
}

/** Why an attempt ended as it did. */
export interface WhyView {
  /** Advice in words; null if nothing is wrong. */
  readonly advice: string | null
  /** The verdict on its signature with the endpoint's secret; null if the secret is gone. */
  readonly signature:
    | { readonly valid: true; readonly age_seconds: number; readonly findings: readonly string[] }
    | {
        readonly valid: false
        readonly code: string
        readonly reason: string
        readonly findings: readonly string[]
      }
    | null
  /** Present if the sandbox changed the delivery on purpose. */
  readonly scenario?: {
    readonly name: string
    readonly description: string
    readonly owed: string
    readonly did: string
    readonly is_right: boolean
  }
}

export interface RequestView {
  readonly id: string
  readonly at: string
  readonly method: string
  readonly path: string
  readonly mode: string | null
  readonly key_end: string | null
  readonly status: number
  readonly error_code?: string
  readonly error_message?: string
  readonly note?: string
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

export interface EventView {
  readonly id: string
  readonly title: string
  readonly url: string
  readonly status: 'draft' | 'on_sale' | 'sold_out' | 'past' | 'cancelled'
  readonly doors_at: string
  readonly ends_at: string
  readonly capacity: number
  readonly sold: number
  readonly gross_cents: number
  readonly tickets: readonly {
    readonly id: string
    readonly name: string
    readonly price_cents: number
    readonly quantity: number
  }[]
}

export interface OrderView {
  readonly id: string
  readonly event_id: string
  readonly tier: string
  readonly quantity: number
  readonly total_cents: number
  readonly buyer_email: string
  readonly refunded: boolean
  /** Kept for the latest orders only. */
  readonly tickets: readonly {
    readonly id: string
    readonly scan_token: string
    readonly wallet_pass_url: string
  }[]
}

export interface AssumptionView {
  readonly name: string
  readonly says: string
  readonly choices: Readonly<Record<string, string>>
  readonly chosen: string
}

export interface ScenarioView {
  readonly name: string
  readonly description: string
}

/** Whether an endpoint took it. */
export function isAccepted({ response }: Pick<AttemptView, 'response'>): boolean {
  return response !== undefined && isSuccess(response.status)
}

function isSuccess(status: number): boolean {
  return status >= 200 && status < 300
}
