/** More of them are counted. */
const MAX_NAMED = 3

/** Lists JSON bodies that are no events: `It answers 2xx to an array and an event with an empty type.` */
export function sayNoEvent(bodies: readonly string[]): string {
  const all = [...new Set(bodies.map(nameOf))]
  const names = all.length > MAX_NAMED ? [...all.slice(0, MAX_NAMED), `${all.length - MAX_NAMED} more`] : all
  return `It answers 2xx to ${listed(names)}.`
}

/** `a, b and c`. */
function listed(names: readonly string[]): string {
  const last = names.slice(-1)
  const others = names.slice(0, -1).join(', ')
  return others === '' ? last.join('') : `${others} and ${last}`
}

function nameOf(body: string): string {
  const value: unknown = JSON.parse(body)
  if (!isObject(value)) return sortOf(value)
  const missing = ['type', 'created_at', 'data'].filter((name) => !(name in value))
  if (missing.length === 3) return 'an empty object'
  const faults = [
    ...(missing.length > 0 ? [`without ${missing.join(' and ')}`] : []),
    ...(value.type === '' ? ['with an empty type'] : []),
    ...('data' in value && !isObject(value.data) ? [`with ${sortOf(value.data)} as its data`] : []),
  ]
  return `an event ${faults.join(' and ')}`
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function sortOf(value: unknown): string {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'an array' : `a ${typeof value}`
}
