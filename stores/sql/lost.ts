import { ignoreRejection } from '../../src/internal.js'

/** Keeps us from sending anything more in a transaction that its library has given up. */
export interface Loss {
  /**
   * To be called when the library has rejected.
   *
   * @param isReused whether it uses the connection again at once, as postgres.js does: then the work of the transaction never settles, because
   *   its end would be sent in the transaction of another delivery, or end the process if it comes before that is connected
   */
  lose(isReused: boolean): void
  /** The result of a step in the transaction. After a loss it does not resolve. */
  unlessLost<T>(step: () => Promise<T>): Promise<T>
}

/** @param afterStep waits until the library knows of a loss that the step may have learned of first */
export function lossOf(afterStep: () => Promise<void> = nextTurn): Loss {
  let lost: Promise<never> | undefined
  return {
    lose(isReused) {
      lost = isReused ? new Promise<never>(() => {}) : Promise.reject(new Error('The connection was lost.'))
      ignoreRejection(lost)
    },
    async unlessLost(step) {
      try {
        return await step()
      } finally {
        await afterStep()
        await lost
      }
    },
  }
}

/**
 * Not by setImmediate: it is called just before sockets close, so the library might not know yet; and postgres.js, given a
 * statement when its socket is about to close, waits forever for the next connection.
 */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0))
}
