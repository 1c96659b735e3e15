import { redactError } from '../../../src/index.js'
import { innermost } from '../advice.js'

/** An error to which postgres.js has added the statement that failed, if it was sent, and its parameters. */
interface Failed {
  readonly query?: string | undefined
  readonly args?: readonly unknown[]
  /** Set by the server and by poolers. Not `severity`, which is the same in each language: PgBouncer does not send it. */
  readonly severity_local?: string
}

/** The most connections whose errors are thrown away for one call: postgres.js opens 10 by default. */
const MOST = 10

/**
 * Makes a call. postgres.js keeps the error with which the server ended a connection, and throws it into the first call for which it connects
 * again, before it sends anything of that: such a call is made again. It also gives one error to all calls that wait for a connection that
 * breaks. Both errors have the statement and the parameters of another call, perhaps of another account: these are not passed on.
 *
 * @param isOwn whether it is the error of a statement of this call
 */
export async function withoutStrangers<T>(
  call: () => Promise<T>,
  isOwn: (error: Failed) => boolean,
): Promise<T> {
  for (let left = MOST; ; left--) {
    try {
      return await call()
    } catch (thrown) {
      const error = innermost(thrown) as Failed
      if (!Array.isArray(error.args) || isOwn(error)) throw thrown
      if (error.severity_local === undefined || left === 0) throw redactError(thrown)
    }
  }
}

/** The same for a transaction: until it has begun, nothing but its BEGIN is sent. */
export function beginning<Tx, R>(
  transaction: (work: (tx: Tx) => Promise<R>) => Promise<R>,
  work: (tx: Tx) => Promise<R>,
): Promise<R> {
  let hasBegun = false
  const begin = (): Promise<R> =>
    transaction((tx) => {
      hasBegun = true
      return work(tx)
    })
  return withoutStrangers(begin, ({ query }) => hasBegun || query === undefined || /^\s*begin\b/i.test(query))
}
