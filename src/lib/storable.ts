/** Deeper than any payload that is accepted, with room for what an app puts around it. */
const MAX_DEPTH = 1_000

/** Text without NUL and halves of surrogate pairs, which not every database or client can hold: they are replaced. */
export function storableText(text: string): string {
  return text.replace(/[\0\p{Surrogate}]/gu, '\uFFFD')
}

/**
 * A JSON value that every database can store: `U+FFFD` is in place of each NUL and half of a surrogate pair in its texts and names. A buyer
 * can send them, and Postgres refuses both in `jsonb`, and NUL in `text`, at each retry. Nothing else is touched: numbers, a `Date` and
 * other objects of a class stay what they are, and a value without such characters is returned itself.
 *
 * @returns the value, or a copy of the parts that differ
 * @throws TypeError when it is nested deeper than 1,000 levels, or contains itself
 * @example
 * ```ts
 * import type { ClientBase } from 'pg'
 * import { type OrderCreatedEvent, storable } from 'tix-webhooks'
 *
 * export async function book({ data }: OrderCreatedEvent, tx: ClientBase): Promise<void> {
 *   await tx.query('INSERT INTO orders (id, data) VALUES ($1, $2)', [data.order.id, storable(data)])
 * }
 * ```
 */
export function storable<T>(value: T): T {
  return replaced(value, 0) as T
}

function replaced(value: unknown, depth: number): unknown {
  if (typeof value === 'string') return storableText(value)
  if (!Array.isArray(value) && !isPlain(value)) return value
  if (depth === MAX_DEPTH) {
    throw new TypeError(`storable: the value is nested deeper than ${MAX_DEPTH} levels, or contains itself.`)
  }
  if (Array.isArray(value)) {
    const items = value.map((item) => replaced(item, depth + 1))
    return items.every((item, index) => Object.is(item, value[index])) ? value : items
  }
  const entries = Object.entries(value)
  const stored = entries.map(([name, item]) => [storableText(name), replaced(item, depth + 1)] as const)
  const isSame = stored.every(
    ([name, item], index) => name === entries[index]?.[0] && Object.is(item, entries[index][1]),
  )
  // It defines the names: `__proto__` is one like any other.
  return isSame ? value : Object.fromEntries(stored)
}

function isPlain(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || Object.getPrototypeOf(prototype) === null
}
