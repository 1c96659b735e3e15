/** The codes of refusals. The specification shows none (section 7), so codes and messages are an assumption. */
export type FaultCode =
  | 'parameter_missing'
  | 'parameter_invalid'
  | 'parameter_unknown'
  | 'parameter_conflict'
  /** An id that is of nothing: in the path, in the body, or a cursor. `param` is there unless it was in the path. */
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
  /** A bound of the sandbox, which is documented, is reached. */
  | 'sandbox_full'

/** One thing that is wrong with a request. */
export interface Problem {
  readonly code: FaultCode
  readonly message: string
  /** The field, such as `tickets[0].price_cents`, or the query parameter. */
  readonly param?: string
}

/** A request that is refused. It has changed nothing, and nothing was emitted. */
export class Fault extends Error {
  readonly code: FaultCode
  readonly param: string | undefined
  /** All that is wrong, the first of them the one that `code`, `message` and `param` tell of. */
  readonly problems: readonly [Problem, ...Problem[]]

  constructor(first: Problem, ...more: Problem[]) {
    super(first.message)
    this.name = 'Fault'
    this.code = first.code
    this.param = first.param
    this.problems = [first, ...more]
  }
}
