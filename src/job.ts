import type { Deadline } from './deadline.js'
import type { Delivery, Facts } from './delivery.js'
import type { AnyEvent } from './events.js'
import type { AnyHandler, HandlerContext } from './handlers.js'
import type { Report } from './report.js'
import type { LazyAbort } from './run.js'
import type { Verified } from './signature.js'

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
  readonly handler: AnyHandler<Request>
  readonly abort: LazyAbort
}

/** What the handler of a job is told of its protection. */
export type Protection = Pick<HandlerContext<unknown, unknown>, 'deduplicated' | 'attempt' | 'tx'>

export const UNPROTECTED: Protection = { deduplicated: false, tx: undefined }

/** What the handler of a job is told. */
export function contextOf<Request>(
  { delivery, key, verified, rawBody, abort }: Job<Request>,
  protection: Protection,
): HandlerContext<Request, unknown> {
  return {
    request: delivery.request,
    key,
    ...protection,
    signedAt: verified.signedAt,
    secretIndex: verified.secretIndex,
    rawBody,
    get signal() {
      return abort.signal
    },
  }
}
