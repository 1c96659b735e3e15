import { type Problem, Refusal } from '../refusal.js'
import { quote } from '../text/explain.js'

/** The resource of an id, and the request that lists such ids. */
const SOURCES = {
  event: 'GET /v2/events lists them',
  venue: 'GET /v2/venues lists them',
  'ticket tier': 'the response that created the event lists them',
} as const

/**
 * An id that is of nothing in this account.
 *
 * @param param the field or query parameter that has it; none if it is in the path
 */
export function missingResource(what: keyof typeof SOURCES, id: string, param?: string): Problem {
  const whose = param === undefined ? '' : `${param}: `
  return {
    code: 'resource_missing',
    message: `${whose}there is no ${what} ${quote(id)} among what this key sees: ${SOURCES[what]}, and test and live keys see different ones.`,
    ...(param !== undefined && { param }),
  }
}

/** @throws Refusal if there is any problem */
export function refuseIfAny(problems: readonly (Problem | undefined)[]): void {
  const [first, ...more] = problems.filter((problem) => problem !== undefined)
  if (first !== undefined) throw new Refusal(first, ...more)
}
