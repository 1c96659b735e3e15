import { expect, test } from 'vitest'
import { rateBeside, speedBeside, timeBeside } from '../../bench/support/comparison.js'
import { page, summary, type Table } from '../../bench/support/report.js'

const limit = { name: 'the limit', figures: [5] }

const tables: Table[] = [
  {
    title: 'Bytes',
    columns: ['what', 'bytes'],
    rows: [['a key', '100']],
  },
  { title: 'Files', columns: ['file'], rows: [['a.ts']], isDetail: true },
  {
    title: 'Deliveries',
    ratio: 'Its time, to that of others',
    unit: 'µs',
    comparisons: [
      timeBeside({ name: 'receive()', figures: [10] }, limit, { atMost: 1.85 }),
      timeBeside({ name: 'a forgery', figures: [5] }, limit, { atMost: 1.1 }),
      speedBeside({ name: 'verify', figures: [4] }, limit),
      rateBeside({ name: 'a store', figures: [30] }, { name: 'by hand', figures: [10] }, { atLeast: 2 }),
    ],
    plots: [{ file: 'plot.svg', title: 'A plot', x: 'x', y: 'y', lines: [] }],
  },
]

/** Without the spaces that align the columns. */
const cells = (markdown: string) => markdown.replaceAll(/ +\|/g, ' |')

test('the summary counts the goals that are reached, and lists those that are not', () => {
  const [count, missed = ''] = summary(tables)
  expect(count).toBe('**2 of 3 goals are reached.** Missed:')
  expect(cells(missed)).toContain('| receive() | the limit | 2.00× | ≤ 1.85× | missed |')
  expect(missed).not.toContain('a forgery')
  expect(summary(tables.slice(0, 2))).toEqual(['**0 of 0 goals are reached.**'])
})

test('the page has the summary, then all ratios, then the figures', () => {
  const text = cells(page(tables, ['quiet'], ['Node']))
  expect([...text.matchAll(/^#+ .*/gm)].map(String)).toEqual([
    '# Results',
    '## In short',
    '## Ratios',
    '### Deliveries',
    '## Figures',
    '### Deliveries: µs',
    '### Bytes',
    '## Machine and versions',
  ])
  expect(text).toContain('| verify | the limit | 1.25× | | |')
  expect(text).toContain('| a store | by hand | 3.00× | ≥ 2.00× | reached |')
  expect(text).toContain('![A plot](plot.svg)')
  // A test compares the README with this row of the figures.
  expect(text).toContain('| receive() | 10.0 | the limit | 5.0 |')
})
