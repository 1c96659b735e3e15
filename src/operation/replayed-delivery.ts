import type { AnyDelivery } from '../receiver/delivery.js'

/** The delivery of a replay, whose request may be missing: only reading it throws. */
export function replayedDelivery<Request>(
  rawBody: Uint8Array,
  request: Request | undefined,
): AnyDelivery<Request> {
  return {
    header: undefined,
    body: rawBody,
    hasRequest: request !== undefined,
    get request(): Request {
      if (request !== undefined) return request
      throw new TypeError(
        'This is a replay without a request: pass one, replay(…, { request }), or look at ctx.replayed first.',
      )
    },
  }
}
