import { ConfigurationError, UnavailableError } from '../../src/index.js'
import { describeType } from '../../src/internal.js'

/**
 * What the option `as` of an inbox makes of a client, for handlers to get.
 *
 * @throws UnavailableError when the function throws, ConfigurationError when it returns no object: neither is an error of the database
 */
export function handedBy<Client, Tx>(as: (client: Client) => Tx, client: Client): Tx & object {
  let handed: unknown
  try {
    handed = as(client)
  } catch (cause) {
    throw new UnavailableError(
      'store_unavailable',
      'Your function as of the inbox failed. Nothing is lost.',
      {
        cause,
      },
    )
  }
  const isObject = typeof handed === 'function' || (typeof handed === 'object' && handed !== null)
  if (isObject && !(handed instanceof Promise)) return handed as Tx & object
  throw new ConfigurationError(
    `Your function as of the inbox returned ${describeType(handed)}: it must return the transaction for handlers, such as drizzle(client).`,
  )
}

export const NOT_HANDED = 'Pass ctx.tx itself: this is not the transaction of the inbox.'
