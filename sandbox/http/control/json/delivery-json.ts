import { utcText } from '../../../domain/events/moments.js'
import type { Engine } from '../../../engine/engine.js'
import type { Attempt, AttemptResponse, Delivery } from '../../../engine/record/records.js'
import { firstWords } from '../../../lib/first-words.js'
import { isParked } from '../../../lib/outcome-of.js'
import type { AttemptView, BriefView, DeliveryView } from '../views.js'
import { subjectOf } from './subject.js'

/** A delivery, as the control API shows it. */
export function deliveryJson(delivery: Delivery, engine: Engine): DeliveryView {
  const { message, attempts } = delivery
  return { ...headJson(delivery, engine), body: message.body, attempts: attempts.map(attemptJson) }
}

/** A delivery for a list: without its body, with its last answer alone. */
export function briefJson(delivery: Delivery, engine: Engine): BriefView {
  const { attempts } = delivery
  const last = attempts.at(-1)
  return { ...headJson(delivery, engine), attempts: attempts.length, ...(last && { last: lastJson(last) }) }
}

function headJson(
  { id, message, endpointId, scenario, status, reason, firstAtMs, nextAtMs }: Delivery,
  engine: Engine,
) {
  return {
    id,
    type: message.type,
    subject: subjectOf(message),
    mode: message.mode,
    endpoint: endpointId,
    // The endpoint may have been removed since.
    url: engine.endpoint(endpointId)?.url ?? null,
    ...(scenario !== undefined && { scenario }),
    status,
    ...(reason !== undefined && { reason }),
    created_at: message.createdAt,
    first_at: utcText(firstAtMs),
    ...(nextAtMs !== undefined && { next_at: utcText(nextAtMs) }),
  }
}

function lastJson(attempt: Attempt): NonNullable<BriefView['last']> {
  const { id, trigger, response, error } = attempt
  return {
    attempt: id,
    trigger,
    ...(response && { status: response.status }),
    ...saysOf(response),
    ...(isParked(response) && { parked: true as const }),
    ...(error && { error: error.code }),
  }
}

/** An attempt, as the control API shows it. */
export function attemptJson(attempt: Attempt): AttemptView {
  const { id, number, trigger, scenario, virtualMs, realMs, url, requestHeaders, sentBody, inexact } = attempt
  const { response, error, durationMs, hint } = attempt
  return {
    id,
    number,
    trigger,
    ...(scenario !== undefined && { scenario }),
    virtual_time: utcText(virtualMs),
    real_time: utcText(realMs),
    url,
    request: {
      headers: requestHeaders,
      ...(sentBody !== undefined && { body: sentBody }),
      ...(inexact && { inexact }),
    },
    ...(response && { response }),
    ...saysOf(response),
    ...(isParked(response) && { parked: true as const }),
    ...(error && { error }),
    duration_ms: durationMs,
    ...(hint !== undefined && { hint }),
  }
}

function saysOf(response: AttemptResponse | undefined): { says?: string } {
  const says = response && firstWords(response)
  return says === undefined ? {} : { says }
}
