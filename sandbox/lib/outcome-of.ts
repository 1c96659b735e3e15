/** The outcome in the answer of one of our receivers; undefined for other answers. */
export function outcomeOf(body: string): string | undefined {
  return /^\{"outcome":"([a-z_]{1,30})"\}$/.exec(body)?.[1]
}
