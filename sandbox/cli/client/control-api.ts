import type { ErrorView, StatusView } from '../../internal.js'

export type {
  AdvancedClock,
  AnswerView,
  AttemptView,
  ClockView,
  DeliveriesView,
  DeliveryView,
  EndpointView,
  FaultView,
  OrdersView,
  OrderView,
  ResentView,
  StatusView as SandboxStatus,
  TriggeredView,
} from '../../internal.js'

/** The name in a sandbox's answer, which identifies it. */
const SANDBOX_NAME = 'tix-webhooks sandbox'

/** Whether it is a sandbox that says this. */
export function isStatus(value: unknown): value is StatusView {
  return isObject(value) && value.name === SANDBOX_NAME && typeof value.version === 'string'
}

/** Whether it says why it refuses. */
export function isRefusal(value: unknown): value is ErrorView {
  return isObject(value) && isObject(value.error) && typeof value.error.message === 'string'
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null
