export type { AssumptionName, Assumptions } from './assumptions.js'
export type { SandboxClock, SandboxDeliveries, SandboxEndpoints } from './controls.js'
export type { Endpoint } from './engine/endpoint.js'
export type { EngineChange } from './engine/engine.js'
export type {
  Attempt,
  AttemptResponse,
  Delivery,
  DeliveryFilter,
  DeliveryStatus,
  Message,
} from './engine/records.js'
export type { RequestRecord } from './http/request-log.js'
export type { SandboxOptions } from './options.js'
export { createSandbox, type Sandbox } from './sandbox.js'
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
} from './sandbox-account.js'
export type { FixtureEvent, Fixtures, Seeded } from './seed.js'
export type { EndpointChanges, NewEndpoint, Subscription } from './subscriptions.js'
export type { Triggered, TriggerRequest } from './trigger.js'
