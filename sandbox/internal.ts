/**
 * Exports for the command line, which users cannot import. The service itself is loaded on
 * demand, so that a command that talks to a running sandbox starts without it.
 */

export { type Diagnosis, diagnose } from './diagnose/diagnose.js'
export { hintFor, hintForParked, withoutSecrets } from './engine/hints.js'
export { matchesKind } from './engine/kinds.js'
export { httpSender } from './engine/network/http-sender.js'
export { isPlainUrl, PLAIN_URL } from './engine/network/plain-url.js'
export type { Send, SendResult } from './engine/network/send.js'
export { piecesOf } from './engine/network/transport.js'
export { DELIVERY_STATUSES } from './engine/record/records.js'
export { retrySchedule } from './engine/schedule.js'
export { attemptJson } from './http/control/json/delivery-json.js'
export { requestJson } from './http/control/json/request-json.js'
export type {
  AdvancedClock,
  AnswerView,
  AttemptView,
  ClockView,
  DeliveriesView,
  DeliveryView,
  EndpointView,
  ErrorView,
  FaultView,
  OrdersView,
  OrderView,
  ResentView,
  StatusView,
  TriggeredView,
} from './http/control/views.js'
export type { ReservedPort } from './http/server.js'
export { firstWords, quoted } from './lib/first-words.js'
export { isSuccessStatus } from './lib/is-success-status.js'
export { messageOf } from './lib/message-of.js'
export { nearestName } from './lib/nearest-name.js'
export { answerText, isHandled, isParked, outcomeOf } from './lib/outcome-of.js'
export { readOwnFile, replaceOwnFile } from './lib/own-file.js'
export { VERSION } from './lib/version.js'
export { ASSUMPTIONS } from './service/assumptions.js'
export { MAX_SEED, MAX_TIMEOUT_SECONDS } from './service/options.js'
export { withChanges } from './service/trigger/payload-changes.js'
export { IN_FLIGHT, isDebatable } from './service/trigger/scenario-verdicts.js'
export { isCalendarDay } from './time/calendar.js'
export { durationMs } from './time/duration.js'

/** Loads the service with its libraries. */
export const loadSandbox = () => import('./sandbox.js')
