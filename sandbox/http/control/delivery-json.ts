import { utcText } from '../../domain/events/moments.js'
import type { Engine } from '../../engine/engine.js'
import type { Attempt, Delivery } from '../../engine/record/records.js'

/** A delivery as the control tells it. */
export function deliveryJson(delivery: Delivery, engine: Engine): object {
  const { id, message, endpointId, status, reason, firstAtMs, nextAtMs, attempts } = delivery
  return {
    id,
    type: message.type,
    mode: message.mode,
    endpoint: endpointId,
    // The endpoint may have been removed since.
    url: engine.endpoint(endpointId)?.url ?? null,
    status,
    ...(reason !== undefined && { reason }),
    created_at: message.createdAt,
    first_at: utcText(firstAtMs),
    ...(nextAtMs !== undefined && { next_at: utcText(nextAtMs) }),
    body: message.body,
    attempts: attempts.map(attemptJson),
  }
}

/** An attempt as the control tells it. */
export function attemptJson(attempt: Attempt): object {
  const { id, number, trigger, scenario, virtualMs, realMs, url, requestHeaders, sentBody } = attempt
  const { response, error, durationMs, hint } = attempt
  return {
    id,
    number,
    trigger,
    ...(scenario !== undefined && { scenario }),
    virtual_time: utcText(virtualMs),
    real_time: utcText(realMs),
    url,
    request: { headers: requestHeaders, ...(sentBody !== undefined && { body: sentBody }) },
    ...(response && { response }),
    ...(error && { error }),
    duration_ms: durationMs,
    ...(hint !== undefined && { hint }),
  }
}
