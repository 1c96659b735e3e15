/** The fault of a part: some of its methods, made from the right ones. */
export type Patch<Part> = (right: Part) => Partial<Part>

/** Faults by the ids of the cases that must detect them. */
export type Faults<Part> = Readonly<Record<string, Patch<Part> | readonly Patch<Part>[]>>

/** The rows of such a table. */
export function rowsOf<Part>(
  faults: Faults<Part>,
): { readonly name: string; readonly seenBy: readonly string[]; readonly patch: Patch<Part> }[] {
  return Object.entries(faults).flatMap(([ids, patches]) =>
    [patches].flat().map((patch, index) => ({
      name: `${ids}, fault ${index + 1}`,
      seenBy: ids.split(', '),
      patch,
    })),
  )
}

/** Replaces methods of a part. The others call those, and the replaced ones can call what was there before. */
export function patched<Part extends object>(part: Part, patch: Patch<Part>): Part {
  const right: Part = Object.create(part)
  for (let proto: object = part; proto !== Object.prototype; proto = Object.getPrototypeOf(proto)) {
    for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(proto))) {
      if (typeof value === 'function' && !Object.hasOwn(right, name)) {
        Object.defineProperty(right, name, { value: value.bind(part), enumerable: true })
      }
    }
  }
  return Object.assign(part, patch(right))
}
