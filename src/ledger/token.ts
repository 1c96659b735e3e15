/** Receivers of this process that have made a token. */
let sources = 0

/**
 * Makes the tokens of one receiver: a random prefix and a counter, which costs less than a UUID for each delivery. The prefix is made at
 * the first call, because some runtimes refuse randomness outside a request. It has the number of the source, because tests like to
 * stub randomness, and two receivers with the same tokens would take each other's leases for their own.
 *
 * @param randomUuid called once
 */
export function tokenSource(randomUuid: () => string): () => string {
  let prefix: string | undefined
  let count = 0
  return () => {
    if (prefix === undefined) {
      sources += 1
      prefix = `${randomUuid()}.${sources.toString(36)}`
    }
    count += 1
    return `${prefix}.${count.toString(36)}`
  }
}
