/**
 * The elements of a list, and of the lists in it, in their order; anything else as it is. Not by recursion: a list may be nested deep.
 *
 * @param seen the lists that were looked at: one may contain itself
 */
export function* partsOf(value: unknown, seen: Set<unknown>): Iterable<unknown> {
  // The next one is the last.
  const left = [value]
  while (left.length > 0) {
    const part = left.pop()
    const elements = elementsOf(part)
    if (elements === undefined) yield part
    else if (!seen.has(part)) {
      seen.add(part)
      for (let index = elements.length - 1; index >= 0; index--) left.push(elements[index])
    }
  }
}

/** The elements of a list; `undefined` for anything else, and for a value that throws when it is read, such as a revoked proxy. */
function elementsOf(value: unknown): readonly unknown[] | undefined {
  try {
    // Not by index: a list may have a hundred million holes.
    return Array.isArray(value) ? Object.values(value) : undefined
  } catch {
    return undefined
  }
}
