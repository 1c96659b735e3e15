/** The most calls of one attempt that a story lists. */
const MOST_CALLS = 60

/** The story of a run, for the message of a failure: each attempt, its calls, the interruption and the answers. */
export class Story {
  private readonly lines: string[] = []
  private listed = 0

  attempt(number: number, afterSeconds: number): void {
    this.listed = 0
    this.lines.push(`attempt ${number}${afterSeconds === 0 ? '' : `, after ${afterSeconds} s`}`)
  }

  called(number: number, name: string): void {
    this.listed += 1
    if (this.listed <= MOST_CALLS) this.lines.push(`  ${number}. ${name}`)
    else if (this.listed === MOST_CALLS + 1) this.lines.push('  …')
  }

  note(what: string): void {
    this.lines.push(`  ${what}`)
  }

  toString(): string {
    return this.lines.join('\n')
  }
}
