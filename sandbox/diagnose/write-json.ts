/** How a language writes JSON. */
export interface JsonStyle {
  /** Between elements. Default `,`. */
  readonly comma?: string
  /** After a name. Default `:`. */
  readonly colon?: string
  /** Default false. */
  readonly sortKeys?: boolean
  /** Whether all that is not ASCII is escaped. Default false. */
  readonly ascii?: boolean
  /** Whether slashes are escaped. Default false. */
  readonly slashes?: boolean
}

/** Writes a value that was parsed from JSON as another language would. */
export function writeJson(value: unknown, style: JsonStyle = {}): string {
  const { comma = ',', colon = ':', sortKeys = false } = style
  if (Array.isArray(value)) return `[${value.map((element) => writeJson(element, style)).join(comma)}]`
  if (typeof value !== 'object' || value === null) return writeText(JSON.stringify(value), style)
  const entries = Object.entries(value)
  if (sortKeys) entries.sort(([a], [b]) => (a < b ? -1 : 1))
  const members = entries.map(
    ([name, member]) => `${writeText(JSON.stringify(name), style)}${colon}${writeJson(member, style)}`,
  )
  return `{${members.join(comma)}}`
}

function writeText(text: string, { ascii = false, slashes = false }: JsonStyle): string {
  const slashed = slashes ? text.replaceAll('/', '\\/') : text
  return ascii ? slashed.replaceAll(/[^\0-\x7f]/g, escaped) : slashed
}

function escaped(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
}
