import { textOf } from './database-error.js'
import { causeOf, messageOf } from './message-of.js'
import { readProperty } from './read-property.js'

const MAX_CAUSES = 5

/** Postgres, in `jsonb`: of half of a surrogate pair only the detail says more than that the JSON is invalid. MySQL says it in its message. */
const SAYS = /unsupported Unicode escape|invalid byte sequence for encoding|surrogate/i
/** The SQLSTATEs of the first two, whose messages may be in another language. */
const CODES = /^(22P05|22021)$/

/** What to do about a text that a database has refused; empty for any other error. A library may have wrapped that of the database. */
export function adviceOnText(error: unknown): string {
  let current = error
  for (let depth = 0; depth <= MAX_CAUSES && current !== undefined; depth++) {
    const texts = [messageOf(current), textOf(readProperty(current, 'detail'))]
    if (CODES.test(textOf(readProperty(current, 'code'))) || texts.some((text) => SAYS.test(text))) {
      return ' A text has NUL or half of a surrogate pair, which the database refuses at each retry: write storable(value), exported by tix-webhooks.'
    }
    current = causeOf(current)
  }
  return ''
}
