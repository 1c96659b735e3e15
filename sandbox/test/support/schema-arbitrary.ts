import fc, { type Arbitrary } from 'fast-check'

/** The parts of JSON Schema that requests use. */
interface Schema {
  readonly $ref?: string
  readonly $defs?: Readonly<Record<string, Schema>>
  readonly anyOf?: readonly Schema[]
  readonly type?: string | readonly string[]
  readonly enum?: readonly unknown[]
  readonly pattern?: string
  readonly format?: string
  readonly minimum?: number
  readonly maximum?: number
  readonly minLength?: number
  readonly minItems?: number
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly items?: Schema
}

/** Times, most of them in the future. */
const moments = fc
  .tuple(
    fc.oneof(
      { weight: 9, arbitrary: fc.integer({ min: Date.UTC(2027, 0), max: Date.UTC(2030, 0) }) },
      { weight: 1, arbitrary: fc.integer({ min: Date.UTC(1969, 0), max: Date.UTC(2027, 0) }) },
    ),
    fc.oneof(
      { weight: 9, arbitrary: fc.constantFrom('Z', '+01:00', '-08:00') },
      { weight: 1, arbitrary: fc.constantFrom('', '-23:59', '+0100') },
    ),
  )
  .map(([ms, offset]) => new Date(ms).toISOString().replace('Z', offset))

const urls = fc.constantFrom(
  'https://example.com/poster.jpg',
  'http://localhost/',
  'data:,',
  'ftp://example.com/',
)

/** The most optional fields that are present. */
const MOST_OPTIONAL = 3

/**
 * Values that mostly fit a schema, so that many of them are accepted.
 *
 * @param known the existing ids
 */
export function like(schema: object, known: readonly string[]): Arbitrary<unknown> {
  const root = schema as Schema
  const from = (at: Schema): Arbitrary<unknown> => {
    if (at.$ref !== undefined) return from(root.$defs?.[at.$ref.split('/').at(-1) ?? ''] ?? {})
    if (at.anyOf !== undefined) return fc.oneof(...at.anyOf.map(from))
    if (at.enum !== undefined) return fc.constantFrom(...at.enum)
    const types = [at.type ?? 'null'].flat()
    return fc.oneof(...types.map((type) => ofType(type, at)))
  }
  const ofType = (type: string, at: Schema): Arbitrary<unknown> => {
    if (type === 'object') return objects(at)
    if (type === 'array') return fc.array(from(at.items ?? {}), { minLength: at.minItems ?? 0, maxLength: 4 })
    if (type === 'integer') {
      const { minimum = 0, maximum = 100 } = at
      return fc.oneof(fc.integer({ min: minimum, max: Math.min(maximum, minimum + 5) }), fc.constant(maximum))
    }
    if (type === 'boolean') return fc.boolean()
    return type === 'string' ? texts(at) : fc.constant(null)
  }
  const objects = ({ properties = {}, required = [] }: Schema): Arbitrary<unknown> => {
    const fields: Record<string, Arbitrary<unknown>> = {}
    for (const [name, field] of Object.entries(properties)) fields[name] = from(field)
    const optional = Object.keys(properties).filter((name) => !required.includes(name))
    const chosen = fc.subarray(optional, { maxLength: Math.min(MOST_OPTIONAL, optional.length) })
    return fc
      .tuple(fc.record(fields), chosen)
      .map(([whole, names]) => Object.fromEntries([...required, ...names].map((name) => [name, whole[name]])))
  }
  const texts = ({ pattern = '', format, minLength = 0 }: Schema): Arbitrary<unknown> => {
    const fitting = known.filter((id) => pattern !== '' && new RegExp(pattern).test(id))
    const any = fc.string({ unit: 'grapheme', minLength, maxLength: 20 })
    if (format === 'uri') return urls
    if (pattern.includes('T(')) return moments
    return fitting.length === 0
      ? any
      : fc.oneof({ weight: 9, arbitrary: fc.constantFrom(...fitting) }, { weight: 1, arbitrary: any })
  }
  return from(root)
}

/** A value, sometimes with something else in one of its places. */
export function near(values: Arbitrary<unknown>, other: Arbitrary<unknown>): Arbitrary<unknown> {
  return fc
    .tuple(
      values,
      fc.array(fc.tuple(fc.nat(), fc.constantFrom('replace', 'remove', 'add'), other), { maxLength: 2 }),
    )
    .map(([value, changes]) =>
      changes.reduce<unknown>((at, [place, how, by]) => changed(at, place, how, by), value),
    )
}

function changed(value: unknown, place: number, how: string, by: unknown): unknown {
  if (typeof value !== 'object' || value === null) return by
  const keys = Object.keys(value)
  if (how === 'add' || keys.length === 0) {
    return Array.isArray(value) ? [...value, by] : { ...value, [JSON.stringify(by).slice(0, 20)]: by }
  }
  const key = keys[place % keys.length] ?? ''
  const deeper = Math.floor(place / keys.length)
  const inner = (value as Record<string, unknown>)[key]
  if (how === 'remove') {
    return Array.isArray(value)
      ? value.filter((_, index) => String(index) !== key)
      : Object.fromEntries(Object.entries(value).filter(([name]) => name !== key))
  }
  const replaced = deeper % 2 === 1 ? changed(inner, deeper, how, by) : by
  return Array.isArray(value)
    ? value.map((one, index) => (String(index) === key ? replaced : one))
    : { ...value, [key]: replaced }
}
