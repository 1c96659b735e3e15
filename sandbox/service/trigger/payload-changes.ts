import { Refusal } from '../../domain/refusal.js'

type Parent = Record<string, unknown>

/**
 * Replaces values at some paths of a payload.
 *
 * @param changes paths such as `data.tickets[0].tier` to values
 * @throws Refusal if a path is not there: a typo that is silently ignored is found late
 */
export function withChanges<Sent extends { readonly data: object }>(
  sent: Sent,
  changes: Readonly<Record<string, unknown>>,
): Sent {
  const copy = { data: structuredClone(sent.data) }
  for (const [path, value] of Object.entries(changes)) change(copy, path, value)
  return { ...sent, data: copy.data }
}

function change(root: { data: object }, path: string, value: unknown): void {
  const steps = path
    .replace(/\[(\d+)\]/g, '.$1')
    .split('.')
    .filter((step) => step !== '')
  const name = steps.pop()
  let parent: unknown = root
  for (const step of steps) parent = own(parent, step)
  if (steps[0] !== 'data' || name === undefined || !isParent(parent) || !has(parent, name)) {
    throw new Refusal({
      code: 'parameter_unknown',
      param: 'set',
      message: `The payload has no ${path}. It has ${pathsOf(root).slice(0, 30).join(', ')}.`,
    })
  }
  parent[name] = value
}

function own(parent: unknown, name: string): unknown {
  return isParent(parent) && has(parent, name) ? parent[name] : undefined
}

/** The length of a list is not part of the payload. */
function has(parent: Parent, name: string): boolean {
  return Object.hasOwn(parent, name) && !(Array.isArray(parent) && name === 'length')
}

/** The paths of all that is no object and no list. */
function pathsOf(value: unknown, prefix = ''): string[] {
  if (!isParent(value)) return [prefix]
  return Object.entries(value).flatMap(([name, child]) =>
    pathsOf(child, Array.isArray(value) ? `${prefix}[${name}]` : prefix === '' ? name : `${prefix}.${name}`),
  )
}

function isParent(value: unknown): value is Parent {
  return typeof value === 'object' && value !== null
}
