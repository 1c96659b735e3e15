/** A subscription of an endpoint: everything, a kind, or a group of kinds. */
export const KIND_PATTERN = /^(\*|[\w-]{1,64}(\.[\w-]{1,64}){0,7}(\.\*)?)$/

/** Whether a subscription includes a kind: by its name, by a group such as `event.*`, or by `*`. */
export function matchesKind(pattern: string, type: string): boolean {
  if (pattern === '*' || pattern === type) return true
  return pattern.endsWith('.*') && type.startsWith(pattern.slice(0, -1))
}
