import { cases } from '../cases/index.js'
import { versionsOf } from './lane.js'
import type { Cell, Result } from './test-lane.js'

const MARKS: Readonly<Record<Cell, string>> = { passed: '✓', failed: '✗', unless: '–' }

/** The table of lane and case for a terminal, with what failed. */
export function textTable(results: readonly Result[]): string {
  const width = Math.max(...results.map(({ lane }) => lane.name.length))
  const numbers = cases.map((_, index) => String(index + 1).padStart(3)).join('')
  const rows = results.map(({ lane, cells, inside, recipe, seconds }) => {
    const marks = cells.map((cell) => MARKS[cell].padStart(3)).join('')
    const others = Object.entries(inside).map(([name, found]) => `${name} ${shareOf(found)}`)
    if (recipe !== undefined) others.push(`recipe ${MARKS[recipe]}`)
    return [lane.name.padEnd(width), marks, ` ${seconds.toFixed(0).padStart(3)} s `, others.join(', ')].join(
      '',
    )
  })
  const legend = cases.map(({ name }, index) => `${String(index + 1).padStart(3)}  ${name}`)
  const failed = results.flatMap(({ lane, failures }) =>
    failures.map((failure) => `✗ ${lane.name}: ${failure}`),
  )
  return [`${' '.repeat(width)}${numbers}`, ...rows, '', ...legend, '', ...failed].join('\n')
}

/** The table for docs/frameworks.md. */
export function markdownTable(results: readonly Result[]): string {
  const head = [
    '| host | versions | cases | adapter cases | store cases: memory | SQLite | recipe |',
    '|---|---|---|---|---|---|---|',
  ]
  const rows = results.map(({ lane, cells, inside, recipe }) => {
    const ran = cells.filter((cell) => cell !== 'unless')
    const passed = ran.filter((cell) => cell === 'passed').length
    const columns = [
      lane.name,
      versionsOf(lane),
      ran.length === 0 ? '' : `${passed}/${ran.length}`,
      ...(['adapter-cases', 'store-cases/memory', 'store-cases/sqlite'] as const).map((name) => {
        const found = inside[name]
        return found === undefined ? '' : shareOf(found)
      }),
      recipe === undefined ? '' : MARKS[recipe],
    ]
    return `|${columns.map((column) => (column === '' ? ' ' : ` ${column} `)).join('|')}|`
  })
  return [...head, ...rows].join('\n')
}

function shareOf({ passed, failures }: { passed: number; failures: readonly unknown[] }): string {
  return `${passed}/${passed + failures.length}`
}
