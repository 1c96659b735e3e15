/**
 * Makes the tokens of one receiver: a random prefix and a counter, which costs less than a UUID for each delivery. The prefix is made at
 * the first call, because some runtimes refuse randomness outside a request.
 */
export function tokenSource(): () => string {
  let prefix: string | undefined
  let count = 0
  return () => {
    prefix ??= crypto.randomUUID()
    count += 1
    return `${prefix}.${count.toString(36)}`
  }
}
