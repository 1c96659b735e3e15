import { type HandlerScope, refused } from './handler-scope.js'

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
