export type { AdapterCase } from './adapter-cases/adapter-case.js'
export { adapterCases } from './adapter-cases/adapter-cases.js'
export type { AdapterAnswer, AdapterHarness, MountedAdapter } from './adapter-cases/harness.js'
export { callHandler } from './call-handler.js'
export { type AsJson, type ExactOptions, type SampleOptions, sampleEvent } from './deliveries/sample-event.js'
export type { PreviousDates, SampleDataByKind } from './deliveries/samples.js'
export {
  type SignedBody,
  type SignedDelivery,
  type SigningOptions,
  signedBody,
  signedDelivery,
} from './deliveries/signed-delivery.js'
export type { InjectedRequest, TestDelivery } from './deliveries/test-delivery.js'
export type { InboxCut, InboxHarness, InboxNeed } from './inbox-cases/harness.js'
export type { InboxCase } from './inbox-cases/inbox-case.js'
export { inboxCases } from './inbox-cases/inbox-cases.js'
export { type Interruption, type InterruptionOptions, interruptions } from './interruptions/interruptions.js'
export type { FetchHandler, ProcessContext, StartedProcess } from './interruptions/run-parts.js'
export type { LedgerCase, LedgerHarness } from './ledger-cases/ledger-case.js'
export { ledgerCases } from './ledger-cases/ledger-cases.js'
export {
  type AnyAnswer,
  type DeliveryAttempt,
  deliverWithRetries,
  type RetryOptions,
} from './retries/retries.js'
export { RETRY_SCHEDULE } from './retries/retry-schedule.js'
export { createTestClock, type TestClock } from './retries/test-clock.js'
export type { ScenarioOptions, ScenarioSource } from './scenarios/fixture.js'
export type {
  Scenario,
  ScenarioDelivery,
  ScenarioInfo,
  ScenarioName,
  ScenarioTransport,
  ScenarioVerdict,
} from './scenarios/scenario.js'
export { makeScenario, SCENARIOS, scenarios } from './scenarios/scenarios.js'
export type { StoreCase, StoreHarness } from './store-cases/store-case.js'
export { storeCases } from './store-cases/store-cases.js'
