import type { Plot } from './plot.js'

/** The results of a group. */
export interface Table {
  readonly title: string
  readonly columns: readonly string[]
  readonly rows: readonly (readonly string[])[]
  /** Notes that a reader needs. */
  readonly notes?: readonly string[]
  /** The same as a chart. */
  readonly plot?: Plot
}

export function markdown({ title, columns, rows, notes = [], plot }: Table): string {
  const widths = columns.map((column, i) =>
    Math.max(column.length, ...rows.map((row) => row[i]?.length ?? 0)),
  )
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join(' | ')} |`
  const rule = `|${widths.map((width) => '-'.repeat(width + 2)).join('|')}|`
  const prose = notes.length === 0 ? [] : ['', ...notes.map((note) => `- ${note}`)]
  const picture = plot === undefined ? [] : ['', `![${plot.title}](${plot.file})`]
  return [`## ${title}`, '', line(columns), rule, ...rows.map(line), ...prose, ...picture].join('\n')
}
