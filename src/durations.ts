/**
 * Every time limit, pause and interval of the receiver, the adapters and the stores. The name ends in the unit: `_MS` is milliseconds,
 * `_SECONDS` seconds. Those that a user can set are defaults or bounds of options.
 */

/** How long the service retries a delivery: 72 hours. */
export const RETRY_WINDOW_SECONDS: number = 72 * 3600

/** The longest time that a timer can be set for, and so the most for each option that sets one; a longer timer fires at once. */
export const MAX_TIMER_SECONDS = 2_147_483

// A delivery.

/** `toleranceSeconds`: the greatest difference between the timestamp of a delivery and our clock, in both directions. */
export const DEFAULT_TOLERANCE_SECONDS = 300

/** `timeoutSeconds`: the time from arrival to answer. */
export const DEFAULT_TIMEOUT_SECONDS = 10

/** `maxRunSeconds`: the time after which a handler that has not settled is given up. */
export const DEFAULT_MAX_RUN_SECONDS = 300

/** One of ten waits for the reset of an HTTP/2 stream that seems complete. */
export const RESET_CHECK_MS = 10

/** How long after a refusal the rest of the body is cancelled: by then the answer is sent. */
export const CANCEL_AFTER_MS = 1_000

// `Retry-After`.

/** The delay before a retry if no better one is known. */
export const RETRY_SECONDS = 5

/**
 * The most for an outage, and for too many deliveries at once: chosen at random from `RETRY_SECONDS` on, or all would be retried together. A
 * longer time delays more than it spreads: `npm run bench -- --only crowd`.
 */
export const MAX_SPREAD_SECONDS = 15

/** The most that the sender is told to wait for another delivery of the event, whose lease may last longer. */
export const MAX_IN_FLIGHT_SECONDS = 30

/** The most that a handler can ask for by `RetryLater`: one day, a third of the sender's 72 hours. */
export const MAX_RETRY_AFTER_SECONDS = 86_400

// The receiver's process.

/** How long a drain waits beyond the end of the last work: what is late by less may still be in the event loop's queue. */
export const DRAIN_GRACE_MS = 1_000

/** The longest pause of a drain before it looks again: a run may last longer than a timer can be set for. */
export const DRAIN_PAUSE_MS = 60_000

/** The window in which only the first refusals of one cause are logged, and the others counted. */
export const LOG_WINDOW_MS = 60_000

/** The least time between two warnings that the memory store forgot events because it was full. */
export const EVICTION_WARNING_MS = 3_600_000

// Leases and records.

/** `leaseSeconds`: how long a run may go without a renewal; it is renewed every third of it. */
export const DEFAULT_LEASE_SECONDS = 60

/** The least for `leaseSeconds`: a shorter lease expires between two turns of a busy event loop, and the event runs twice. */
export const MIN_LEASE_SECONDS = 0.1

/** `retentionSeconds` of a store or an inbox that keeps no failures: how long an event is kept after its completion. */
export const DEFAULT_RETENTION_SECONDS: number = 7 * 24 * 3600

/**
 * The least for `retentionSeconds`: the retry window, and an hour for clock differences and backlogs. An event that is forgotten sooner
 * can run twice.
 */
export const MIN_RETENTION_SECONDS: number = RETRY_WINDOW_SECONDS + 3600

/** The most for `retentionSeconds`, a hundred years: a longer time is in the wrong unit, and overflows some backends. */
export const MAX_RETENTION_SECONDS: number = 100 * 365 * 24 * 3600

/** `retentionSeconds` of a ledger: how long an event is kept after its completion, or the last delivery that failed. */
export const DEFAULT_LEDGER_RETENTION_SECONDS: number = 30 * 24 * 3600

/** How many failures of one call of `replay` run at the same time. */
export const REPLAYS_AT_ONCE = 4

/** `purgeEverySeconds`: how often a store or an inbox deletes what is past its retention. */
export const DEFAULT_PURGE_SECONDS = 300

/** When a process purges for the first time, unless `purgeEverySeconds` is shorter. */
export const FIRST_PURGE_SECONDS = 60

// Calls of a store or an inbox.

/** The limit of every store call: a store that hangs must not block the delivery. */
export const STORE_CALL_MS = 2_000

/** The longest that a store call waits to be sent together with others: it must still be answered while its caller waits. */
export const BURST_WAIT_MS: number = STORE_CALL_MS / 2

/** Over the limit of a call by this much, its failure proves nothing: the process was stopped, or its event loop blocked. */
export const STOPPED_MS = 50

/** The pauses between the attempts to record an end, while the sender waits. */
export const RETRY_PAUSES_MS: readonly number[] = [200, 800]

/** The pauses after those: a cluster takes up to fifteen seconds to fail over. */
export const LATE_PAUSES_MS: readonly number[] = [2_000, 4_000, 8_000, 15_000]

/** All pauses, in their order. */
export const PAUSES_MS: readonly number[] = [...RETRY_PAUSES_MS, ...LATE_PAUSES_MS]

/** The longest that it takes to record an end: a renewal in progress, and all attempts. */
export const SETTLING_MS: number =
  PAUSES_MS.reduce((sum, pauseMs) => sum + pauseMs, 0) + (PAUSES_MS.length + 2) * STORE_CALL_MS

/** The longest that a transaction may take to begin or to commit: after that its connection counts as lost, and a drain stops waiting. */
export const COMMIT_MS = 30_000

// Statements and connections.

/** The longest that a statement of a store may take: a silent connection, as after a machine has vanished, would keep its slot forever. */
export const STATEMENT_MS = 10_000

/** How long a check of a table waits for a lock on it: less than a probe waits, or the server's side of abandoned checks would pile up. */
export const CHECK_LOCK_MS = 1_500

/** How long metrics wait for a count of the failures before they ask again: longer than its statement may take, since each takes a connection. */
export const RECOUNT_MS: number = STATEMENT_MS + STORE_CALL_MS

/** The longest that a roll-back waits for a stuck statement of the handler; then the connection is closed instead. */
export const ROLLBACK_MS = 2_000

/** A Redis that stays read-only costs each connection one reconnection in that time, and not one for each call. QUIT has ended by then. */
export const LEAVE_EVERY_MS: number = ROLLBACK_MS / 2

/** The server ends a run so much later than the receiver gives it up: the roll-back may be waiting for a stuck statement. */
export const ROLLBACK_MARGIN_MS: number = 2 * ROLLBACK_MS

/** `idleTimeoutSeconds`: how long a handler's transaction may be without a statement. */
export const DEFAULT_IDLE_SECONDS = 60

/** The most for `idleTimeoutSeconds`: a day. */
export const MAX_IDLE_SECONDS = 86_400

// Other backends.

/** The longest that SQLite waits while another process writes, if the connection sets no limit. It blocks the event loop. */
export const BUSY_TIMEOUT_MS = 2_000

/** The least time between two purges of a Durable Object: once an hour is enough, since a record past its retention is absent anyway. */
export const OBJECT_PURGE_MS = 3_600_000
