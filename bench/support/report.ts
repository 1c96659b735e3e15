import type { Comparison } from './comparison.js'
import { short, spread, times } from './figures.js'
import { goalText, isReached, verdictOf } from './goal.js'
import type { Plot } from './plot.js'
import { estimateOf } from './rounds.js'

/** The results of a group: comparisons, or figures that stand alone. */
export type Table = Compared | Listed

interface Compared {
  readonly title: string
  /** The meaning of the ratio. */
  readonly ratio: string
  /** The unit of the figures. */
  readonly unit: string
  readonly comparisons: readonly Comparison[]
  /** Notes that a reader needs. */
  readonly notes?: readonly string[]
  /** Charts of the same. */
  readonly plots?: readonly Plot[]
}

interface Listed {
  readonly title: string
  readonly columns: readonly string[]
  readonly rows: readonly (readonly string[])[]
  readonly notes?: readonly string[]
  /** Only printed, for who works on it: not on the page. */
  readonly isDetail?: boolean
}

/** The page: what was reached, then all ratios, then the figures that they were made of. */
export function page(tables: readonly Table[], head: readonly string[], foot: readonly string[]): string {
  const compared = tables.filter((table): table is Compared => 'comparisons' in table)
  const listed = tables.filter((table): table is Listed => 'columns' in table && table.isDetail !== true)
  const parts = [
    '# Results',
    [
      'Written by `npm run bench`; bench/README.md says how it is measured. A figure is what the best tenth of the rounds',
      'reach, and the brackets are its range over four interleaved parts of the rounds. `close`: parts of the rounds say otherwise.',
    ].join('\n'),
    bullets(head),
    '## In short',
    ...summary(tables),
    '## Ratios',
    ...compared.map(ratios),
    '## Figures',
    ...[...compared.map(figures), ...listed.map(list)],
    '## Machine and versions',
    bullets(foot),
  ]
  return `${parts.join('\n\n')}\n`
}

/** A table with everything about it, to be printed while others are being measured. */
export function markdown(table: Table): string {
  return 'comparisons' in table ? `${ratios(table)}\n\n${figures(table)}` : list(table)
}

/** How many goals are reached, and which are not. */
export function summary(tables: readonly Table[]): string[] {
  const comparisons = tables.flatMap((table) => ('comparisons' in table ? table.comparisons : []))
  const judged = comparisons.filter(({ goal }) => goal !== undefined)
  const missed = judged.filter(({ ratio, goal }) => goal !== undefined && !isReached(ratio.value, goal))
  const count = `${judged.length - missed.length} of ${judged.length} goals are reached`
  if (missed.length === 0) return [`**${count}.**`]
  return [`**${count}.** Missed:`, ratioGrid(missed)]
}

function ratioGrid(comparisons: readonly Comparison[]): string {
  const columns = ['what', 'beside', 'ratio', 'goal', '']
  const hasGoals = comparisons.some(({ goal }) => goal !== undefined)
  const rows = comparisons.map(({ ours, theirs, ratio, goal }) => [
    ours.name,
    theirs.name,
    spread(ratio, times),
    ...(goal === undefined ? ['', ''] : [goalText(goal), verdictOf(ratio, goal)]),
  ])
  const width = hasGoals ? columns.length : 3
  return grid(
    columns.slice(0, width),
    rows.map((row) => row.slice(0, width)),
  )
}

function ratios({ title, ratio, comparisons, notes = [], plots = [] }: Compared): string {
  return [
    `### ${title}`,
    `${ratio}:`,
    ratioGrid(comparisons),
    ...(notes.length === 0 ? [] : [bullets(notes)]),
    ...plots.map((plot) => `![${plot.title}](${plot.file})`),
  ].join('\n\n')
}

function figures({ title, unit, comparisons }: Compared): string {
  const rows = comparisons.map(({ kind, ours, theirs }, i) => [
    // Each of them once.
    ...(comparisons[i - 1]?.ours === ours
      ? ['', '']
      : [ours.name, spread(estimateOf(ours.figures, kind), short)]),
    theirs.name,
    spread(estimateOf(theirs.figures, kind), short),
  ])
  return `### ${title}: ${unit}\n\n${grid(['what', unit, 'beside', unit], rows)}`
}

function list({ title, columns, rows, notes = [] }: Listed): string {
  return [`### ${title}`, grid(columns, rows), ...(notes.length === 0 ? [] : [bullets(notes)])].join('\n\n')
}

/** Without padding, because the page is in every production install. */
function grid(columns: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`
  return [line(columns), line(columns.map(() => '---')), ...rows.map(line)].join('\n')
}

function bullets(lines: readonly string[]): string {
  return lines.map((line) => `- ${line}`).join('\n')
}
