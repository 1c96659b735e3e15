import { StoreError } from '../../../src/index.js'

/**
 * Keeps what is left of a handler from a connection that is no longer its own.
 *
 * A handler that did not wait for all of its branches goes on when its transaction is over: what they send would be committed
 * by itself, or in the transaction of another delivery. A connection that was lost is worse with postgres.js: it rejects the
 * transaction at once and uses the same object again, and a statement that comes before it is connected ends the process.
 */
export interface LossGuard {
  /** To be called when the library has given the transaction up. */
  lose(): void
  /** The work; what it leaves behind finds the transaction over. */
  toItsEnd<T>(work: () => Promise<T>): Promise<T>
  /** The transaction, which refuses every use after its end. */
  guard<Tx extends object>(tx: Tx): Tx
  /** What the work comes to, or nothing ever after a loss: so that the library does not send its own COMMIT or ROLLBACK. */
  unlessLost<T>(work: () => Promise<T>): Promise<T>
}

export function lossGuard(): LossGuard {
  let isLost = false
  let isOver = false

  function check(): void {
    if (!isOver) return
    throw new StoreError(
      'store_unavailable',
      'The transaction of this delivery is over, or its connection was lost: nothing more can be written in it. Await everything that uses ctx.tx before the handler returns, also when a part of it fails.',
    )
  }

  function guard<Tx extends object>(tx: Tx): Tx {
    const guarded = new Proxy(tx, {
      apply(target, self, parameters) {
        check()
        return Reflect.apply(target as Callable, self, parameters)
      },
      get(target, name) {
        check()
        const value: unknown = Reflect.get(target, name)
        // A proxy must show a constant property as it is.
        if (typeof value !== 'function' || isConstant(target, name)) return value
        return guardedMethod(value as Callable, name === 'savepoint' || name === 'transaction')
      },
    })

    /** It works on the library's own object: what it does in a later turn is the library's, and must not be refused there. */
    function guardedMethod(method: Callable, opensSavepoint: boolean): Callable {
      return new Proxy(method, {
        apply(target, self, given: unknown[]) {
          check()
          const parameters = opensSavepoint ? given.map(guardedWork) : given
          const result = Reflect.apply(target, self === guarded ? tx : self, parameters)
          return result === tx ? guarded : result
        },
      })
    }
    return guarded
  }

  /** A savepoint has a transaction object of its own, and statements that the library sends at its end. */
  function guardedWork(parameter: unknown): unknown {
    if (typeof parameter !== 'function') return parameter
    return (tx: object) => unlessLost(async () => parameter(guard(tx)))
  }

  async function unlessLost<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } finally {
      // The work may have heard of the loss first, and the library by the end of the same turn.
      await nextTurn()
      if (isLost) await new Promise(() => {})
    }
  }

  return {
    lose() {
      isLost = true
      isOver = true
    },
    async toItsEnd(work) {
      try {
        return await work()
      } finally {
        isOver = true
      }
    },
    guard,
    unlessLost,
  }
}

function isConstant(target: object, name: PropertyKey): boolean {
  const property = Reflect.getOwnPropertyDescriptor(target, name)
  return property?.configurable === false && property.writable === false
}

type Callable = (...parameters: unknown[]) => unknown

/**
 * Not by setImmediate: it calls just before sockets close, so the library might not know yet; and what postgres.js is given to
 * send then, when its socket is about to close, makes it wait for ever for the connection after it.
 */
function nextTurn(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0))
}
