type Defined<T> = { [K in keyof T as undefined extends T[K] ? never : K]: T[K] } & {
  [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>
}

/** The fields that are not undefined. */
export function defined<T extends object>(fields: T): Defined<T> {
  const found: Record<string, unknown> = {}
  for (const name in fields) if (fields[name] !== undefined) found[name] = fields[name]
  return found as Defined<T>
}
