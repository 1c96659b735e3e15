import type { FastifyBaseLogger } from 'fastify'
import type { Delivery } from '../../src/index.js'

/** Writes the default report to a request's logger. Without one, which is Fastify's default, it is left to `console.error`. */
export function logOn(log: FastifyBaseLogger): Delivery['log'] {
  // Fastify's stand-in for a logger has no level, and one function, which does nothing, under every name.
  if (log.level === undefined && log.error === log.info) return undefined
  return (line, thrown) => log.error(thrown === undefined ? {} : { err: thrown }, line)
}
