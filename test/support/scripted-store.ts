import type { ClaimRequest, IdempotencyStore, Lease } from 'tix-webhooks'

/** The calls of a store, in order: the method and its arguments. */
type StoreCall =
  | readonly ['claim', ClaimRequest]
  | readonly ['renew', Lease, number]
  | readonly ['complete', Lease, number]
  | readonly ['release', Lease]

type Method = keyof IdempotencyStore

/** A method's answer: a value or a promise of any shape, or it throws, as a foreign store may. */
export type Script = Partial<Record<Method, (...args: readonly unknown[]) => unknown>>

/** A scripted store, however wrong: for answers that no real store gives on command. Without a script each call is granted. */
export function scriptedStore(script: Script = {}) {
  const calls: StoreCall[] = []
  function method(name: Method, granted: unknown) {
    return (...args: readonly unknown[]) => {
      calls.push([name, ...args] as unknown as StoreCall)
      return (script[name] ?? (async () => granted))(...args)
    }
  }
  const store = {
    claim: method('claim', { status: 'claimed', attempt: 1 }),
    renew: method('renew', true),
    complete: method('complete', true),
    release: method('release', true),
  } as unknown as IdempotencyStore
  return { store, script, calls, called: () => calls.map(([name]) => name) }
}
