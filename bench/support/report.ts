import type { Plot } from './plot.js'
import { type Figures, median } from './rounds.js'

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

/** The median, and in brackets the minimum and maximum of all rounds. */
export function spread(figures: Figures, format: (figure: number) => string = whole): string {
  return `${format(median(figures))} (${format(Math.min(...figures))}–${format(Math.max(...figures))})`
}

export function whole(figure: number): string {
  return Math.round(figure).toLocaleString('en')
}

/** Three significant digits. */
export function short(figure: number): string {
  return figure >= 100 ? whole(figure) : figure.toPrecision(figure >= 10 ? 3 : 2)
}

export function times(figure: number): string {
  return `${figure.toFixed(2)}×`
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
