import { EVENT_KINDS } from '../src/index.js'

/**
 * The kinds that a metric may name: those of `schemas`, and those of the service that `on` names, by themselves or by their group. Other
 * kinds in a group are not named: the sender could create any number of series.
 */
export function namedKinds(on: unknown, schemas: unknown): ReadonlySet<string> {
  const keys = ownKeys(on)
  const own = ownKeys(schemas)
  const isNamed = (kind: string): boolean =>
    keys.some((key) => key === kind || (key.endsWith('.*') && kind.startsWith(key.slice(0, -1))))
  return new Set([...own, ...EVENT_KINDS.filter(isNamed)])
}

function ownKeys(record: unknown): string[] {
  if (typeof record !== 'object' || record === null) return []
  return Object.getOwnPropertyNames(record).filter((key) => record[key as keyof typeof record] !== undefined)
}
