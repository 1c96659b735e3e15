import type { AttemptView, DeliveryStatus } from '../../http/control/views.js'
import { isSuccessStatus } from '../../lib/is-success-status.js'

export type {
  AssumptionView,
  AttemptView,
  BriefView as Brief,
  ClockView,
  DeliveryStatus as Status,
  DeliveryView,
  EndpointView,
  EventView,
  FaultView,
  OrderView,
  RequestView,
  ScenarioView,
  StateView as State,
  WhyView,
} from '../../http/control/views.js'

export const STATUSES: readonly DeliveryStatus[] = ['pending', 'retrying', 'delivered', 'failed', 'skipped']

/** Whether an endpoint took it. */
export function isAccepted({ response }: Pick<AttemptView, 'response'>): boolean {
  return response !== undefined && isSuccessStatus(response.status)
}
