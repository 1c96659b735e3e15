import { STATEMENT_MS, STORE_CALL_MS } from '../durations.js'
import { isWebhookError } from '../errors.js'
import { within } from '../lib/time/alarm-clock.js'
import { monotonicMs } from '../lib/time/clock.js'
import type { Drain } from './drain.js'

/** The answer to a readiness probe. */
export interface Health {
  /** Whether this process should get deliveries. */
  readonly ok: boolean
  readonly problems: readonly Problem[]
}

/** A reason why it should not. */
export interface Problem {
  /** `draining`, or the code of the error of a failed check: `store_unavailable`. */
  readonly code: string
  /** Says how to mend it, without credentials: it may be shown to a probe. */
  readonly message: string
}

const DRAINING: Problem = { code: 'draining', message: 'This process is shutting down.' }

const TOO_SLOW = unavailable(
  `took longer than ${STORE_CALL_MS / 1000} s: is its backend reachable, and is a connection of its pool free?`,
)
// The message of a client may name credentials.
const FAILED = unavailable('failed with an error that is not a StoreError, so its message is not shown.')
const SAID_NO = unavailable('returned false.')

function unavailable(what: string): Problem {
  return { code: 'store_unavailable', message: `The check of the store or the inbox ${what}` }
}

/**
 * Makes `health()`.
 *
 * @param check asks the store or the inbox; `undefined` if it cannot be asked
 */
export function healthOf(drain: Drain, check: Check): () => Promise<Health> {
  const problemNow = check === undefined ? undefined : problemFound(check)

  return async () => {
    const found = drain.isClosing ? undefined : await problemNow?.()
    // Also if it began during the check.
    const problem = drain.isClosing ? DRAINING : found
    return { ok: problem === undefined, problems: problem === undefined ? [] : [problem] }
  }
}

type Check = (() => unknown) | undefined

/** The problem that one check finds now, if any. */
function problemFound(check: () => unknown): () => Promise<Problem | undefined> {
  let asked: { readonly atMs: number; readonly problem: Promise<Problem | undefined> } | undefined

  async function ask(): Promise<Problem | undefined> {
    try {
      // Of a store of the user's: its type forbids it, but JavaScript and `as` do not.
      return (await check()) === false ? SAID_NO : undefined
    } catch (error) {
      return isWebhookError(error) ? { code: error.code, message: error.message } : FAILED
    }
  }

  /** Probes that come while a check hangs share it for a while: each check takes a connection. */
  function askOnce(): Promise<Problem | undefined> {
    const nowMs = monotonicMs()
    if (asked === undefined || nowMs - asked.atMs >= STATEMENT_MS) {
      const asking = { atMs: nowMs, problem: ask() }
      asked = asking
      void asking.problem.then(() => {
        if (asked === asking) asked = undefined
      })
    }
    return asked.problem
  }

  return () => within(askOnce(), STORE_CALL_MS, () => TOO_SLOW)
}
