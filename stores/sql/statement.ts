import type { SqlType } from './columns.js'

/**
 * SQL as the core writes it, for a dialect to spell: `:name` is a parameter, `:now` the time, `:live` whether the row that is there is within its
 * retention, `stored.x` a column of that row, and `given.x` one of the row that would be inserted. The rest means the same in each database.
 */
export type CoreSql = string

/** The parameters of a statement, with their types. */
export type Fields = Readonly<Record<string, SqlType>>

/** A value of a parameter; `undefined` is NULL. */
export type Value = string | number | Uint8Array | null | undefined

export type Values = Readonly<Record<string, Value>>

/** How a dialect spells the parts that differ. */
export interface Spelling {
  parameter(name: string): string
  readonly now: string
  /** Whether the row that is there is within its retention. */
  readonly live: string
  stored(column: string): string
  given(column: string): string
}

/** Spells SQL of the core. A colon in a literal of ours is followed by no letter. */
export function spell(text: CoreSql, { parameter, now, live, stored, given }: Spelling): string {
  return text
    .replaceAll(':live', `(${live})`)
    .replace(/\bstored\.(\w+)/g, (_, column: string) => stored(column))
    .replace(/\bgiven\.(\w+)/g, (_, column: string) => given(column))
    .replace(/:(\w+)/g, (_, name: string) => (name === 'now' ? now : parameter(name)))
}
