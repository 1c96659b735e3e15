// The answers of the control API: types alone, so that the page in the browser and the command line share them.

/** The sandbox as a whole. */
export interface StatusView {
  readonly name: string
  readonly version: string
  readonly url: string
  /** The folder that it was started in. */
  readonly folder: string
  readonly clock: ClockView
  readonly counts: Readonly<Record<'test' | 'live', { events: number; venues: number; orders: number }>>
  /** How many there have been of each status. */
  readonly deliveries: Readonly<Record<DeliveryStatus, number>>
  /** How many of the delivered ones the receiver keeps for a replay. */
  readonly parked: number
  readonly endpoints: number
  readonly assumptions: { readonly signature: 'dot' | 'concat' | 'body'; readonly [name: string]: string }
}

/** The data of the page, with the deliveries as lines of a list. */
export interface StateView {
  readonly status: StatusView
  readonly clock: ClockView
  readonly next_attempt: { readonly delivery: string; readonly at: string } | null
  readonly endpoints: readonly EndpointView[]
  readonly deliveries: readonly BriefView[]
  /** How many there are by the filter, whatever the limit. */
  readonly matching: number
  readonly requests: readonly RequestView[]
  readonly events: readonly EventView[]
  readonly faults: readonly FaultView[]
}

/** `passed` and `wrong_answer` are those of scenarios. */
type DeliveryStatus = 'pending' | 'retrying' | 'delivered' | 'failed' | 'skipped' | 'passed' | 'wrong_answer'

/** The virtual time. */
export interface ClockView {
  readonly now: string
  readonly frozen: boolean
  readonly next_at: string | null
  /** A description of the next event, such as `Harbour Jazz ends`. */
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
    /** How many of these the receiver keeps for a replay. */
    readonly parked: number
    readonly given_up: number
    readonly retrying: number
    /** The fewest and the most attempts of those that were given up; null if there are none. */
    readonly given_up_after: readonly [number, number] | null
  }
}

/** A destination of webhooks. Its secrets are the newest first. */
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
  /** Its content in a few words, such as `2 tickets · 54.00 · buyer8@example.com`; empty for an unknown kind. */
  readonly subject: string
  readonly mode: string
  readonly endpoint: string
  readonly url: string | null
  /** The name of the scenario that sent it. */
  readonly scenario?: string
  readonly status: DeliveryStatus
  readonly reason?: string
  readonly created_at: string
  readonly first_at: string
  readonly next_at?: string
}

/** A delivery as a line of the list. */
export interface BriefView extends DeliveryHead {
  readonly attempts: number
  readonly last?: {
    readonly attempt: string
    readonly trigger: AttemptView['trigger']
    readonly status?: number
    /** The first words of the answer. */
    readonly says?: string
    /** Whether it was parked: see `AttemptView`. */
    readonly parked?: true
    readonly error?: string
  }
}

/** A message on its way to an endpoint, whole. */
export interface DeliveryView extends DeliveryHead {
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
  /** The genuine deliveries that are no longer kept and may have matched: only their status is known. */
  readonly forgotten: number
  /** All genuine deliveries that are parked, whatever the filter's status, including those no longer kept. */
  readonly parked: number
}

/** One request, and what became of it. */
export interface AttemptView {
  readonly id: string
  readonly number: number
  readonly trigger: 'auto' | 'manual' | 'scenario'
  readonly scenario?: string
  readonly virtual_time: string
  readonly real_time: string
  readonly url: string
  readonly request: {
    readonly headers: Readonly<Record<string, string>>
    /** Absent if it was the body of the delivery. */
    readonly body?: string
    /** Whether `body` is not exactly what was sent: it was cut, dropped because of its age, or is not UTF-8. */
    readonly inexact?: true
  }
  readonly response?: AnswerView
  /** The first words of the answer: the message in its JSON, the first line of text on its HTML page, or its first line. */
  readonly says?: string
  /** Whether the receiver keeps it for a replay: its 2xx does not say that it was handled. */
  readonly parked?: true
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

/** Why an attempt ended as it did. */
export interface WhyView {
  /** Advice in words; null if nothing is wrong. */
  readonly advice: string | null
  /** The verdict on its signature with the endpoint's secret; null if the secret is gone, or the exact body is not kept. */
  readonly signature:
    | { readonly valid: true; readonly age_seconds: number; readonly findings: readonly string[] }
    | {
        readonly valid: false
        readonly code: string
        readonly reason: string
        readonly findings: readonly string[]
      }
    | null
  /** The verdict on an attempt of a scenario. */
  readonly scenario?: {
    readonly name: string
    readonly description: string
    readonly expected: string
    readonly got: string
    /** Whether this attempt got it. */
    readonly passed: boolean
    /** Why the scenario got a wrong answer though this attempt did not. */
    readonly note?: string
  }
}

/** A delivery as a command for a terminal. */
export interface CurlView {
  readonly command: string
  /** Whether it was signed now, rather than when it was sent. */
  readonly fresh: boolean
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
  readonly tickets: readonly {
    readonly id: string
    readonly scan_token: string
    readonly wallet_pass_url: string
  }[]
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

/** The body of a refusal. */
export interface ErrorView {
  readonly error: { readonly code: string; readonly message: string }
}
