/** The likely intended name: the same except for case and punctuation, such as `doorsAt`, or at most two typos away. */
export function nearestName(given: string, names: readonly string[]): string | undefined {
  if (given.length > 40) return undefined
  const plain = plainOf(given)
  const [nearest] = names
    .map((name) => ({ name, slips: slipsBetween(plain, plainOf(name)) }))
    .filter(({ name, slips }) => slips <= 2 && slips < name.length / 2)
    .sort((a, b) => a.slips - b.slips)
  return nearest?.name
}

function plainOf(name: string): string {
  return name.toLowerCase().replace(/[^a-z0-9]/g, '')
}

/** The Damerau–Levenshtein distance: how many letters are inserted, deleted, replaced, or swapped with the next. */
function slipsBetween(a: string, b: string): number {
  const far = a.length + b.length
  let before: readonly number[] = []
  let last: readonly number[] = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let row = 1; row <= a.length; row += 1) {
    const next = [row]
    for (let column = 1; column <= b.length; column += 1) {
      const isSame = a[row - 1] === b[column - 1]
      const isSwapped = a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1]
      const left = (next[column - 1] ?? far) + 1
      const above = (last[column] ?? far) + 1
      const diagonal = (last[column - 1] ?? far) + (isSame ? 0 : 1)
      next.push(Math.min(left, above, diagonal, isSwapped ? (before[column - 2] ?? far) + 1 : far))
    }
    before = last
    last = next
  }
  return last.at(-1) ?? 0
}
