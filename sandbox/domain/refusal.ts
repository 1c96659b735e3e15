/** The codes of refusals. The specification shows none, so codes and messages are an assumption. */
export type RefusalCode =
  | 'parameter_missing'
  | 'parameter_invalid'
  | 'parameter_unknown'
  | 'parameter_conflict'
  /** An unknown id: in the path, in the body, or a cursor. `param` is set unless it was in the path. */
  | 'resource_missing'
  | 'title_contains_html'
  | 'ends_at_before_doors_at'
  | 'on_sale_after_end'
  | 'duplicate_tier_name'
  | 'image_upload_not_shown'
  | 'use_reschedule'
  | 'doors_at_unchanged'
  | 'doors_at_in_past'
  | 'test_key_required'
  | 'event_not_on_sale'
  | 'event_already_published'
  | 'event_already_cancelled'
  | 'event_cancelled'
  | 'event_past'
  | 'event_ended'
  | 'event_sold_out'
  | 'tier_sold_out'
  /** A documented limit of the sandbox is reached. */
  | 'sandbox_full'

/** A problem of a request. */
export interface Problem {
  readonly code: RefusalCode
  readonly message: string
  /** The field, such as `tickets[0].price_cents`, or the query parameter. */
  readonly param?: string
}

/** A refused request: nothing was changed, and no webhook was sent. */
export class Refusal extends Error {
  readonly code: RefusalCode
  readonly param: string | undefined
  /** All problems; `code`, `message` and `param` are those of the first. */
  readonly problems: readonly [Problem, ...Problem[]]

  constructor(first: Problem, ...more: Problem[]) {
    super(first.message)
    // The name that callers of `createSandbox` see in errors and in logs.
    this.name = 'Fault'
    this.code = first.code
    this.param = first.param
    this.problems = [first, ...more]
  }
}
