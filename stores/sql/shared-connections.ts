import type { InboxConnections } from '../../src/index.js'
import { sharedMap } from '../../src/internal.js'

/**
 * The connections of a pool: one object for each pool, by which receivers know that they share it.
 *
 * @param limit the option of the pool, which may be the text of an environment variable; `undefined` is returned if it is no number
 */
export function sharedConnections(pool: object, limit: unknown): InboxConnections | undefined {
  const max = Number(limit)
  if (!(max >= 1)) return undefined
  const known = sharedMap<object, InboxConnections>('connections')
  const connections = known.get(pool) ?? { max }
  known.set(pool, connections)
  return connections
}
