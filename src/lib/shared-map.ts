/**
 * A map that all copies of the package in a process share: an app may load it as ESM and as CommonJS, and a development server loads it
 * again after a change.
 */
export function sharedMap<Key extends object, Value>(name: string): WeakMap<Key, Value> {
  const maps = globalThis as unknown as Record<symbol, WeakMap<Key, Value>>
  const symbol = Symbol.for(`tix-webhooks.${name}`)
  maps[symbol] ??= new WeakMap()
  return maps[symbol]
}
