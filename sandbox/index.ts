export type { Endpoint } from './engine/endpoint.js'
export type { SandboxChange } from './engine/engine-parts.js'
export type { DeliveryFilter } from './engine/record/delivery-filter.js'
export type {
  Attempt,
  AttemptResponse,
  Delivery,
  DeliveryStatus,
  Message,
} from './engine/record/records.js'
export { createSandbox, type Sandbox } from './sandbox.js'
export type { ApiFault, NewFault } from './service/api-faults.js'
export type { AssumptionName, Assumptions } from './service/assumptions.js'
export type { SandboxClock, SandboxDeliveries, SandboxEndpoints, SandboxFaults } from './service/controls.js'
export type { Filled, FixtureEvent, Fixtures } from './service/fill.js'
export type { SandboxOptions } from './service/options.js'
export type { RequestRecord } from './service/request-record.js'
export type {
  CreatedEvent,
  CreatedOrder,
  EventsQuery,
  NewEvent,
  NewOrder,
  PageQuery,
  SandboxAccount,
  SandboxEvent,
  SandboxPage,
  Tier,
  Venue,
} from './service/sandbox-account.js'
export type { EndpointChanges, NewEndpoint, Subscription } from './service/subscriptions.js'
export type { Triggered, TriggerOptions } from './service/trigger/trigger.js'
