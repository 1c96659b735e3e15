import { StoreError } from '../../../src/index.js'

/**
 * The time in which a transaction is its handler's. After it, no statement of that handler may reach the connection.
 *
 * A handler that did not wait for all of its branches goes on when its transaction is over: their statements would be committed
 * by themselves, or in the transaction of another delivery. A connection that was lost is worse with postgres.js: it rejects the
 * transaction at once and uses the same object again, and a statement that comes before it is connected ends the process.
 */
export interface TransactionScope {
  /** Calls the work; the scope ends with it. */
  run<T>(work: () => Promise<T>): Promise<T>
  /** The transaction, which refuses every use after the scope's end. */
  bind<Tx extends object>(tx: Tx): Tx
  /** The result of the work, or nothing ever after a loss: so that the library does not send its own COMMIT or ROLLBACK. */
  unlessLost<T>(work: () => Promise<T>): Promise<T>
  /** To be called when the library has given the transaction up. */
  lose(): void
}

export function transactionScope(): TransactionScope {
  let isLost = false
  let isOver = false

  function refuseIfOver(): void {
    if (!isOver) return
    throw new StoreError(
      'store_unavailable',
      'The transaction of this delivery is over, or its connection was lost: nothing more can be written in it. Await everything that uses ctx.tx before the handler returns, also when a part of it fails.',
    )
  }

  function bind<Tx extends object>(tx: Tx): Tx {
    const bound = new Proxy(tx, {
      apply(target, self, parameters) {
        refuseIfOver()
        return Reflect.apply(target as Callable, self, parameters)
      },
      get(target, name) {
        refuseIfOver()
        const value: unknown = Reflect.get(target, name)
        // A proxy must show a constant property as it is.
        if (typeof value !== 'function' || isConstant(target, name)) return value
        return boundMethod(value as Callable, name === 'savepoint' || name === 'transaction')
      },
    })

    /** It is called on the library's own object, whose calls in a later turn must not be refused. */
    function boundMethod(method: Callable, opensSavepoint: boolean): Callable {
      return new Proxy(method, {
        apply(target, self, given: unknown[]) {
          refuseIfOver()
          const parameters = opensSavepoint ? given.map(boundWork) : given
          const result = Reflect.apply(target, self === bound ? tx : self, parameters)
          return result === tx ? bound : result
        },
      })
    }
    return bound
  }

  /** A savepoint has a transaction object of its own, and statements that the library sends at its end. */
  function boundWork(parameter: unknown): unknown {
    if (typeof parameter !== 'function') return parameter
    return (tx: object) => unlessLost(async () => parameter(bind(tx)))
  }

  async function unlessLost<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } finally {
      // The work may learn of the loss first, and the library by the end of the same turn.
      await nextTurn()
      if (isLost) await new Promise(() => {})
    }
  }

  return {
    async run(work) {
      try {
        return await work()
      } finally {
        isOver = true
      }
    },
    bind,
    unlessLost,
    lose() {
      isLost = true
      isOver = true
    },
  }
}

function isConstant(target: object, name: PropertyKey): boolean {
  const property = Reflect.getOwnPropertyDescriptor(target, name)
  return property?.configurable === false && property.writable === false
}

type Callable = (...parameters: unknown[]) => unknown

/**
 * Not by setImmediate: it is called just before sockets close, so the library might not know yet; and postgres.js, given a
 * statement when its socket is about to close, waits for ever for the connection after it.
 */
function nextTurn(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0))
}
