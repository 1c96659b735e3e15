/** A value that may have been different when the signature was made. */
export interface Variant<Value> {
  /** The difference, to follow "The signature matches". Empty if there is none. */
  readonly what: string
  /** The advice, a sentence. */
  readonly advice: string
  readonly value: Value
}

/** Nothing was different. */
export function asItIs<Value>(value: Value): Variant<Value> {
  return { what: '', advice: '', value }
}

/** Drops variants whose bytes an earlier one has: the earlier is the likelier explanation. */
export function distinct(variants: readonly Variant<Uint8Array>[]): Variant<Uint8Array>[] {
  const seen = new Set<string>()
  return variants.filter(({ value }) => {
    const bytes = Buffer.from(value).toString('latin1')
    if (seen.has(bytes)) return false
    seen.add(bytes)
    return true
  })
}
