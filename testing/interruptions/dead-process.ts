/** Thrown to end code of a dead process: a callback, so that a transaction that waits for it is rolled back, or a loop. */
export class ProcessDied extends Error {
  override name = 'ProcessDied'
  constructor() {
    super('The process died here: this is the interruption.')
  }
}

/** Code that uses it more often is in a loop that waits for another value. */
const MOST_USES = 1000

/**
 * The result of each call of a process that is dead. Its members and its results are itself, awaiting it never ends, and iterating over
 * it gives nothing, so that the remaining code of the process neither continues nor fails. The returned function returns it, and counts
 * as a use; after many uses it throws.
 */
export function makeDeadResult(): () => never {
  let uses = 0
  const used = <Value>(value: Value): Value => {
    uses += 1
    if (uses > MOST_USES) throw new ProcessDied()
    return value
  }
  const nowhere: object = new Proxy(function nowhere() {}, {
    get(_, key) {
      if (key === Symbol.toPrimitive) return () => used('')
      if (key === Symbol.iterator) return () => used([].values())
      if (key === Symbol.asyncIterator) return () => ({ next: () => used(nowhere), return: () => nowhere })
      return used(nowhere)
    },
    apply: () => used(nowhere),
    construct: () => used(nowhere),
    set: () => used(true),
  })
  return () => used(nowhere) as never
}
