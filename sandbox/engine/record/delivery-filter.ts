import { matchesKind } from '../kinds.js'
import { type Delivery, type DeliveryStatus, isScenario } from './records.js'

export interface DeliveryFilter {
  /** A status; `scenario` is any status of a scenario. */
  status?: DeliveryStatus | 'scenario'
  /** A kind, or a group such as `event.*`. */
  type?: string
  endpointId?: string
  /** Text in the id, the kind, the body or the scenario; case does not matter. */
  text?: string
  /** The most deliveries returned. Default 100. */
  limit?: number
}

export const FILTER_NAMES: readonly (keyof DeliveryFilter)[] = [
  'status',
  'type',
  'endpointId',
  'text',
  'limit',
]

export function matchesFilter(
  delivery: Delivery,
  { status, type, endpointId, text }: DeliveryFilter,
): boolean {
  return (
    (status === undefined || hasStatus(delivery, status)) &&
    (type === undefined || matchesKind(type, delivery.message.type)) &&
    (endpointId === undefined || delivery.endpointId === endpointId) &&
    (text === undefined || has(delivery, text.toLowerCase()))
  )
}

export function hasStatus(delivery: Delivery, status: DeliveryStatus | 'scenario'): boolean {
  return status === 'scenario' ? isScenario(delivery) : delivery.status === status
}

function has({ id, message: { type, body }, scenario = '' }: Delivery, text: string): boolean {
  return [id, type, body, scenario].some((part) => part.toLowerCase().includes(text))
}
