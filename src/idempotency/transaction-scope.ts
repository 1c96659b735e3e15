import { StoreError } from '../errors.js'
import { hasMethod } from '../lib/has-method.js'

/**
 * The time in which a transaction is its handler's. After it, no statement of that handler may reach the connection.
 *
 * A handler that did not wait for all of its branches goes on when its transaction is over: their statements would be committed
 * by themselves, or in the transaction of another delivery. A connection that was lost is worse with postgres.js: it rejects the
 * transaction at once and uses the same object again, and a statement that comes before it is connected ends the process.
 */
export interface TransactionScope {
  /**
   * Calls the work; the scope ends with it.
   *
   * @throws StoreError when a function that was given to the transaction is still running: its savepoint is open
   */
  run<T>(work: () => Promise<T>): Promise<T>
  /**
   * The transaction, which refuses every use after the scope's end. A function that is given to one of its methods and called with a
   * transaction, as the work of a nested one is, gets a bound one too; if it settles after the scope's end, the library never learns of it,
   * so that it does not send the end of a savepoint.
   */
  bind<Tx extends object>(tx: Tx): Tx
  /** Whether it is the transaction as `bind` has returned it, or one within it. */
  isBound(value: object): boolean
  /** Whether a function that was given to the transaction is running. */
  isNested(): boolean
  /** The result of the work, or nothing ever after a loss: so that the library does not send its own COMMIT or ROLLBACK. */
  unlessLost<T>(work: () => Promise<T>): Promise<T>
  /** To be called when the library has given the transaction up. */
  lose(): void
}

/** @param afterWork waits until the library knows of a loss that the work may have learned of first */
export function transactionScope(afterWork: () => Promise<void> = nextTurn): TransactionScope {
  let isLost = false
  let isOver = false
  let running = 0
  // They last no longer than the transaction. Weak maps would cost each delivery many times as much, most of it in the collector.
  const boundOf = new Map<object, object>()
  const originalOf = new Map<object, object>()

  function refuseIfOver(): void {
    if (isOver) throw new StoreError('store_unavailable', OVER)
  }

  function bind<Tx extends object>(tx: Tx): Tx {
    return remember(tx, () => {
      // Not of the transaction itself: a proxy must show a constant property as it is, and pg-promise locks its methods.
      const target = typeof tx === 'function' ? () => {} : Object.create(Reflect.getPrototypeOf(tx))
      return new Proxy(target, {
        apply: (_, self, given) => call(tx as Callable, self, given),
        get(_, name) {
          refuseIfOver()
          const value: unknown = Reflect.get(tx, name)
          if (typeof value === 'function') return boundMethod(value as Callable)
          // Nested transactions of Sequelize use the connection of the one around them.
          return sendsStatements(value) ? bind(value) : value
        },
        set: (_, name, value) => Reflect.set(tx, name, value),
        defineProperty: (_, name, property) => Reflect.defineProperty(tx, name, property),
        deleteProperty: (_, name) => Reflect.deleteProperty(tx, name),
        has: (_, name) => Reflect.has(tx, name),
        ownKeys: () => Reflect.ownKeys(tx),
        getOwnPropertyDescriptor(_, name) {
          const property = Reflect.getOwnPropertyDescriptor(tx, name)
          return property && { ...property, configurable: true }
        },
      })
    })
  }

  /** It is called on the library's own object, whose calls in a later turn must not be refused. */
  function boundMethod(method: Callable): Callable {
    return remember(method, () => new Proxy(method, { apply: (_, self, given) => call(method, self, given) }))
  }

  function call(method: Callable, self: unknown, given: unknown[]): unknown {
    refuseIfOver()
    const result = Reflect.apply(method, original(self), given.map(boundWork))
    return (isObject(result) && boundOf.get(result)) || result
  }

  function boundWork(given: unknown): unknown {
    if (typeof given !== 'function' || originalOf.has(given) || isClass(given)) return given
    return remember(
      given as Callable,
      () =>
        new Proxy(given as Callable, {
          apply(work, self, parameters: unknown[]) {
            // A callback, a listener or a hook gets no transaction, and no savepoint ends with it.
            if (!parameters.some(sendsStatements))
              return Reflect.apply(work, boundParameter(self), parameters)
            if (isOver) return new Promise(() => {})
            const bound = parameters.map(boundParameter)
            const result = original(Reflect.apply(work, boundParameter(self), bound))
            // A builder of queries that gives itself back would run if it were awaited.
            return isThenable(result) && !parameters.includes(result) ? unlessOver(result) : result
          },
        }),
    )
  }

  function boundParameter(value: unknown): unknown {
    return sendsStatements(value) ? bind(value) : value
  }

  async function unlessOver(work: PromiseLike<unknown>): Promise<unknown> {
    running++
    try {
      return await work
    } finally {
      // The work may learn of the end or the loss first, and the library by the end of the same turn.
      await nextTurn()
      running--
      if (isOver) await new Promise(() => {})
    }
  }

  /** One proxy for each object, so that `off` removes what `on` has added. */
  function remember<T extends object>(object: T, make: () => object): T {
    if (originalOf.has(object)) return object
    let bound = boundOf.get(object)
    if (bound === undefined) {
      bound = make()
      boundOf.set(object, bound)
      originalOf.set(bound, object)
    }
    return bound as T
  }

  function original(value: unknown): unknown {
    return (isObject(value) && originalOf.get(value)) || value
  }

  return {
    async run(work) {
      try {
        const result = await work()
        // Knex ends a nested transaction at its commit(), a moment before the function that has called it.
        for (let turn = 0; running > 0 && turn < LAST_TURNS; turn++) await nextTurn()
        if (running > 0) throw new StoreError('rolled_back', LEFT_RUNNING)
        return result
      } finally {
        isOver = true
      }
    },
    bind,
    isBound: (value) => originalOf.has(value),
    isNested: () => running > 0,
    async unlessLost(work) {
      try {
        return await work()
      } finally {
        await afterWork()
        if (isLost) await new Promise(() => {})
      }
    },
    lose() {
      isLost = true
      isOver = true
    },
  }
}

const LAST_TURNS = 3

type Callable = (...parameters: unknown[]) => unknown

function isObject(value: unknown): value is object {
  return value instanceof Object || (typeof value === 'object' && value !== null)
}

/** A transaction or a connection, by any of the methods that libraries have for it. */
function sendsStatements(value: unknown): value is object {
  return isObject(value) && SENDING.some((method) => hasMethod(value, method))
}

const SENDING = ['query', '$queryRawUnsafe', 'execute', 'executeQuery', 'unsafe', 'raw']

/** Such as an entity of TypeORM: the library knows it by its identity. */
function isClass(value: object): boolean {
  const prototype = Reflect.getOwnPropertyDescriptor(value, 'prototype')
  if (prototype === undefined) return false
  return prototype.writable === false || Reflect.ownKeys(prototype.value ?? {}).length > 1
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return hasMethod(value, 'then')
}

const OVER =
  'The transaction of this delivery is over, or its connection was lost: nothing more can be written in it. Await everything that uses ctx.tx before the handler returns, also when a part of it fails.'
const LEFT_RUNNING =
  'The handler returned while a nested transaction, or another function that it had given to ctx.tx, was still running. Nothing is kept, and the event runs again: await what ctx.tx returns.'

/**
 * Not by setImmediate: it is called just before sockets close, so the library might not know yet; and postgres.js, given a
 * statement when its socket is about to close, waits forever for the next connection.
 */
function nextTurn(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0))
}
