import { StoreError } from '../../src/index.js'
import { deferred, ignoreRejection } from '../../src/internal.js'
import { hasMethod } from './has-method.js'

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
   * The transaction, whose methods are refused after the scope's end. A function that is given to one of them and called with a
   * transaction, as the work of a nested one is, gets a bound one too; if it settles after the scope's end, the library never learns of it,
   * so that it does not send the end of a savepoint. The promise of such a method rejects if the scope ends by a failure or a loss.
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

/** What a library has that others have not. */
export interface ScopeOptions {
  /** Waits until the library knows of a loss that the work may have learned of first. Default: a turn of the event loop. */
  readonly afterWork?: () => Promise<void>
  /** Called with what each method returns. */
  readonly watch?: (result: unknown, scope: ScopeState) => void
  /** Refuses a call as the library itself does. Returns nothing where that is a promise. */
  readonly refuse?: (
    method: Callable,
    given: unknown[],
    error: StoreError,
  ) => { readonly returned: unknown } | undefined
}

/** The scope as `watch` needs it. */
export interface ScopeState {
  /** Rejects if the transaction is lost, or fails. It is never an unhandled rejection. */
  readonly failed: Promise<never>
  /** The reason for which nothing may be sent now. */
  refusal(): StoreError | undefined
  /** To be called with a sign of a loss: what is sent next waits until the library knows whether it is one. */
  doubt(): void
  /** Resolves when the library knows; `undefined` if there is no doubt. */
  readonly doubted: Promise<void> | undefined
}

export function transactionScope({
  afterWork = nextTurn,
  watch,
  refuse,
}: ScopeOptions = {}): TransactionScope {
  let isLost = false
  let isOver = false
  let running = 0
  let hasReturned = false
  let doubted: Promise<void> | undefined
  const failing = deferred<never>()
  ignoreRejection(failing.promise)
  // They last no longer than the transaction. Weak maps would cost each delivery many times as much, most of it in the collector.
  const boundOf = new Map<object, object>()
  const originalOf = new Map<object, object>()

  const state: ScopeState = {
    failed: failing.promise,
    refusal: () => (isOver ? over() : undefined),
    doubt() {
      doubted ??= afterWork().then(() => {
        doubted = undefined
      })
    },
    get doubted() {
      return doubted
    },
  }

  function fail(): void {
    isOver = true
    failing.reject(over())
  }

  function bind<Tx extends object>(tx: Tx): Tx {
    return remember(tx, () => {
      // Not of the transaction itself: a proxy must show a constant property as it is, and pg-promise locks its methods.
      const target = typeof tx === 'function' ? () => {} : Object.create(Reflect.getPrototypeOf(tx))
      return new Proxy(target, {
        apply: (_, self, given) => call(tx as Callable, self, given),
        get(_, name) {
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
    if (isOver) return refused(method, given)
    const isNested = given.some(isWork)
    // It would begin with a statement of the library's own.
    if (isNested && doubted !== undefined) return untilFailed(doubted.then(() => call(method, self, given)))
    const result = Reflect.apply(method, original(self), given.map(boundWork))
    watch?.(result, state)
    if (isNested && isPlainPromise(result)) return untilFailed(result)
    return (isObject(result) && boundOf.get(result)) || result
  }

  /** Without a loss nobody else reports that the handler's statement is missing. */
  function refused(method: Callable, given: unknown[]): unknown {
    const error = over()
    if (hasReturned && !isLost && !hasWarned) {
      hasWarned = true
      console.warn(`tix-webhooks: ${error.message}`)
    }
    const asLibrary = refuse?.(method, given, error)
    return asLibrary === undefined ? rejecting(error) : asLibrary.returned
  }

  /**
   * Libraries leave the promise of a nested transaction pending whose connection was lost. It runs from the call on: its function is called
   * when the database has answered its SAVEPOINT.
   */
  function untilFailed(result: Promise<unknown>): Promise<unknown> {
    running++
    const settle = (): void => void running--
    result.then(settle, settle)
    const settled = Promise.race([result, failing.promise])
    // A branch that nobody awaits any more.
    failing.promise.catch(() => ignoreRejection(settled))
    return settled
  }

  function boundWork(given: unknown): unknown {
    if (!isWork(given) || originalOf.has(given)) return given
    return remember(
      given,
      () =>
        new Proxy(given, {
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
        isOver = true
        hasReturned = true
        return result
      } catch (error) {
        fail()
        throw error
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
      fail()
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

function isWork(value: unknown): value is Callable {
  return typeof value === 'function' && !isClass(value)
}

/** One without methods of a library's own. */
function isPlainPromise(value: unknown): value is Promise<unknown> {
  return isObject(value) && Reflect.getPrototypeOf(value) === Promise.prototype
}

/**
 * What a refused call returns: a promise that rejects, and is no unhandled rejection by itself. Where the library returns a builder of a
 * query, or a stream, its methods are there.
 */
function rejecting(error: StoreError): unknown {
  const rejected = Promise.reject(error)
  ignoreRejection(rejected)
  const promise: unknown = new Proxy(rejected, {
    get(target, name) {
      if (name === Symbol.asyncIterator) return () => ({ next: () => rejected })
      const value: unknown = Reflect.get(target, name)
      if (typeof value === 'function') return value.bind(target) as unknown
      if (value !== undefined || typeof name === 'symbol') return value
      return (...given: unknown[]) => {
        const [event, listener] = given
        if (event === 'error' && typeof listener === 'function') rejected.catch(listener as Callable)
        return promise
      }
    },
  })
  return promise
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return hasMethod(value, 'then')
}

let hasWarned = false

function over(): StoreError {
  return new StoreError('store_unavailable', OVER)
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
