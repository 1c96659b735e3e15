import { SCALE } from './runs.js'

/*
 * The only limits of time in the tests, which end what hangs and nothing else: a busy machine is many times slower than an idle one.
 */

/** The longest that a test or a hook may take, in milliseconds. */
export const TEST_LIMIT_MS: number = 600_000 * Math.max(1, SCALE)

/** The longest that one step of it waits for a condition, such as the start of a process, in milliseconds. */
export const WAIT_LIMIT_MS = 120_000
