export type { AdapterAnswer, AdapterCase, AdapterHarness, MountedAdapter } from './adapter-case.js'
export { adapterCases } from './adapter-cases.js'
export { type Attack, type AttackName, attacks } from './attacks.js'
export {
  type ContextOfHandler,
  callHandler,
  type EventOfHandler,
  type ResultOfHandler,
} from './call-handler.js'
export type { DeepPartial } from './overrides.js'
export { type AnyAnswer, type DeliveryAttempt, deliverWithRetries, type RetryOptions } from './retries.js'
export { RETRY_SCHEDULE } from './retry-schedule.js'
export {
  type AsJson,
  type ExactOptions,
  type SampleOptions,
  sampleEvent,
  type Undocumented,
} from './sample-event.js'
export type { AttackOptions } from './sample-stage.js'
export type { PreviousDates, SampleDataByKind } from './samples.js'
export type {
  Scenario,
  ScenarioDelivery,
  ScenarioInfo,
  ScenarioName,
  Transport,
  Verdict,
} from './scenario.js'
export { makeScenario, SCENARIOS, type ScenarioSource, scenarios } from './scenarios.js'
export {
  type SignedBody,
  type SignedDelivery,
  type SigningOptions,
  signedBody,
  signedDelivery,
} from './signed-delivery.js'
export type { StoreCase, StoreHarness } from './store-case.js'
export { storeCases } from './store-cases.js'
export { createTestClock, type TestClock } from './test-clock.js'
export type { InjectedRequest, TestDelivery } from './test-delivery.js'
