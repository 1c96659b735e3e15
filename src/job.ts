import type { Deadline } from './deadline.js'
import type { Delivery, Facts } from './delivery.js'
import type { AnyEvent } from './events.js'
import type { Handler, HandlerContext } from './handlers.js'
import type { Report } from './report.js'
import type { LazyAbort } from './run.js'
import type { Verified } from './signature.js'
import type { Lease } from './store.js'

/** An authentic delivery that a handler wants. */
export interface Job<Request> {
  readonly delivery: Delivery<Request>
  readonly facts: Facts
  readonly report: Report
  readonly deadline: Deadline
  readonly rawBody: Uint8Array
  readonly verified: Verified
  readonly key: string | null
  readonly event: AnyEvent
  readonly handler: Handler<AnyEvent, Request>
}

/** The store's leave to run a job. */
export interface Grant {
  readonly lease: Lease
  readonly claimedAtMs: number
  readonly attempt: number
}

/** What the handler of a job is told; without a grant it runs without protection. */
export function contextOf<Request>(
  { delivery, key, verified, rawBody }: Job<Request>,
  grant: Grant | undefined,
  abort: LazyAbort,
): HandlerContext<Request> {
  return {
    request: delivery.request,
    key,
    ...(grant === undefined ? {} : { attempt: grant.attempt }),
    deduplicated: grant !== undefined,
    signedAt: verified.signedAt,
    secretIndex: verified.secretIndex,
    rawBody,
    get signal() {
      return abort.signal
    },
  }
}
