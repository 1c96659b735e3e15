import type { AttemptView } from '../../http/control/views.js'
import { isSuccessStatus } from '../../lib/is-success-status.js'

export type {
  AssumptionView,
  AttemptView,
  BriefView as Brief,
  ClockView,
  CurlView,
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

/** The filters of the list: none, a status, or all scenarios. */
export const TABS = ['', 'pending', 'retrying', 'delivered', 'failed', 'skipped', 'scenario'] as const
export type Tab = (typeof TABS)[number]

/** Whether an endpoint took it. */
export function isAccepted({ response }: Pick<AttemptView, 'response'>): boolean {
  return response !== undefined && isSuccessStatus(response.status)
}
