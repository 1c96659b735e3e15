import { StoreError } from '../../src/index.js'
import { deferred, ignoreRejection } from '../../src/internal.js'

/**
 * The time in which a handler may use its transaction. A handler that did not wait for all of its branches goes on after it: their
 * statements would be committed by themselves, or in the transaction of another delivery.
 */
export interface HandlerScope {
  /** Calls the work; the scope ends with it. */
  run<T>(work: () => Promise<T>): Promise<T>
  /** Ends the scope by a failure or a loss. */
  fail(): void
  /** Rejects then. It is never an unhandled rejection. */
  readonly failed: Promise<never>
  /** The reason for which nothing may be sent now. */
  refusal(): StoreError | undefined
}

export function handlerScope(): HandlerScope {
  let end: 'returned' | 'failed' | undefined
  const failing = deferred<never>()
  ignoreRejection(failing.promise)

  function fail(): void {
    end = 'failed'
    failing.reject(over())
  }

  return {
    async run(work) {
      try {
        const result = await work()
        end = 'returned'
        return result
      } catch (error) {
        fail()
        throw error
      }
    },
    fail,
    failed: failing.promise,
    refusal() {
      if (end === undefined) return undefined
      // Nobody else reports that a statement of a handler that has returned is missing.
      if (end === 'returned' && !hasWarned) {
        hasWarned = true
        console.warn(`tix-webhooks: ${OVER}`)
      }
      return over()
    },
  }
}

/** What a refused call returns: nobody may await it any more. */
export function refused(error: StoreError): Promise<never> {
  const rejected = Promise.reject(error)
  ignoreRejection(rejected)
  return rejected
}

let hasWarned = false

function over(): StoreError {
  return new StoreError('store_unavailable', OVER)
}

const OVER =
  'The transaction of this delivery is over, or its connection was lost: nothing more can be written in it. Await everything that uses ctx.tx before the handler returns, also when a part of it fails.'
