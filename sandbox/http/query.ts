import { HttpError } from './errors.js'

/** A query as the domain takes it: a string for each name, or a list if the name is repeated. */
export function readQuery(query: URLSearchParams): Record<string, string | string[]> {
  const entries = [...new Set(query.keys())].map((name): [string, string | string[]] => {
    const [first = '', ...more] = query.getAll(name)
    return [name, more.length === 0 ? first : [first, ...more]]
  })
  // Not by assignment: a parameter `__proto__` would then be lost, and not be refused.
  return Object.fromEntries(entries)
}

/** @throws HttpError if there is a query and none is allowed */
export function refuseQuery(query: URLSearchParams): void {
  const [name] = query.keys()
  if (name === undefined) return
  throw new HttpError(
    'parameter_unknown',
    `There is no query parameter ${JSON.stringify(name)}: none is taken here. Leave it out.`,
    { param: name },
  )
}
