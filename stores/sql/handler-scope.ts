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

/**
 * With this, the work of a transaction rejects if it was the handler that failed: not with the handler's error, which may be of another
 * server, or have a code by which a library would run it again.
 */
export class HandlerFailed extends Error {
  /** @param cause the handler's error, if none of our statements has shown whether this server takes writes */
  constructor(cause?: unknown) {
    super('The handler failed, so its transaction is rolled back.', { cause })
  }
}

/** What a handler may not do with a client. */
export interface ClientRules {
  /** The methods that send the statement in their first argument. */
  readonly sends: ReadonlySet<string | symbol>
  /** Those that give the connection away or end its transaction, with the reason for the refusal. */
  readonly refused: Readonly<Record<string, string>>
  /** The reason to refuse a statement. */
  refusalOf(statement: string): string | undefined
  /** The property of the client behind the client, which has the same methods. */
  readonly behind?: string
}

/**
 * The client that a handler gets, in the transaction of the inbox: it refuses what would end that transaction or give the connection to
 * another delivery, and all statements after its end.
 */
export function handedClient<Client extends object>(
  client: Client,
  scope: HandlerScope,
  rules: ClientRules,
): Client {
  const handed: Client = new Proxy(client, {
    get(target, name) {
      const reason = Object.hasOwn(rules.refused, name) ? rules.refused[name as string] : undefined
      if (reason !== undefined) return refuse(reason)
      const value: unknown = Reflect.get(target, name)
      if (name === rules.behind && value instanceof Object) return handedClient(value, scope, rules)
      if (typeof value !== 'function') return value
      return (...given: unknown[]) => {
        if (rules.sends.has(name)) {
          const refusal = scope.refusal()
          if (refusal !== undefined) return refused(refusal)
          const forbidden = rules.refusalOf(textOf(given[0]).replace(COMMENTS, ' '))
          if (forbidden !== undefined) throw new TypeError(forbidden)
        }
        const result: unknown = Reflect.apply(value, target, given)
        // Such as that of `on`.
        return result === target ? handed : result
      }
    },
  })
  return handed
}

function refuse(reason: string): () => never {
  return () => {
    throw new TypeError(reason)
  }
}

function textOf(statement: unknown): string {
  if (typeof statement === 'string') return statement
  const { text, sql } = (statement ?? {}) as { text?: unknown; sql?: unknown }
  return String(text ?? sql)
}

/** Not those that a MySQL executes. */
const COMMENTS = /\/\*(?![!M])[\s\S]*?\*\/|(--\s|#).*$/gm

export const NOT_YOURS =
  'ctx.tx is the connection of the inbox, which releases it itself: remove release(), end() and destroy() from the handler.'

export const IN_TRANSACTION =
  'ctx.tx is in the transaction of the inbox, so it can neither begin nor end one: write through it directly, and put SAVEPOINT and ROLLBACK TO SAVEPOINT around what may fail.'
