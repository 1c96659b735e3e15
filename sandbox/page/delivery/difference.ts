/** A line of two texts: of both, of the second alone, or of the first alone. */
export interface Line {
  readonly sign: ' ' | '+' | '-'
  readonly text: string
}

/** The table of a diff grows with both texts: if it would be larger, all lines are shown as changed. */
const MAX_CELLS = 250_000
const MAX_LINES = 2000

/** The lines that differ between two texts: as few as possible. */
export function differenceOf(before: string, after: string): readonly Line[] {
  const a = before.split('\n')
  const b = after.split('\n')
  let head = 0
  while (head < a.length && head < b.length && a[head] === b[head]) head += 1
  let tail = 0
  while (tail < a.length - head && tail < b.length - head && a.at(-1 - tail) === b.at(-1 - tail)) tail += 1
  const same = (text: string): Line => ({ sign: ' ', text })
  const lines = [
    ...a.slice(0, head).map(same),
    ...changed(a.slice(head, a.length - tail), b.slice(head, b.length - tail)),
    ...a.slice(a.length - tail).map(same),
  ]
  return lines.slice(0, MAX_LINES)
}

function changed(a: readonly string[], b: readonly string[]): Line[] {
  const removed = (text: string): Line => ({ sign: '-', text })
  const added = (text: string): Line => ({ sign: '+', text })
  if (a.length * b.length > MAX_CELLS) return [...a.map(removed), ...b.map(added)]
  // How many lines the rests of both from here on have in common.
  const common = Array.from({ length: a.length + 1 }, () => new Uint32Array(b.length + 1))
  const at = (i: number, j: number): number => common[i]?.[j] ?? 0
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      const row = common[i]
      if (row !== undefined)
        row[j] = a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1))
    }
  }
  const lines: Line[] = []
  let i = 0
  let j = 0
  while (i < a.length || j < b.length) {
    const [one = '', other = ''] = [a[i], b[j]]
    if (i < a.length && j < b.length && one === other) {
      lines.push({ sign: ' ', text: one })
      i += 1
      j += 1
    } else if (j >= b.length || (i < a.length && at(i + 1, j) >= at(i, j + 1))) {
      lines.push(removed(one))
      i += 1
    } else {
      lines.push(added(other))
      j += 1
    }
  }
  return lines
}
