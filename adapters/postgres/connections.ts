import type { InboxConnections } from '../../src/index.js'
import { sharedMap } from '../../src/internal.js'

/**
 * The connections of a pool of pg or of postgres.js: one object for each pool, by which receivers know that they share it. `undefined` for a
 * driver of the user's, which may have any number.
 */
export function connectionsOf(pool: object): InboxConnections | undefined {
  const { options } = pool as { options?: { max?: unknown } | null }
  // pg takes the text of an environment variable too.
  const max = Number(options?.max)
  if (!(max >= 1)) return undefined
  const known = sharedMap<object, InboxConnections>('connections')
  const connections = known.get(pool) ?? { max }
  known.set(pool, connections)
  return connections
}
