import { writeFile } from 'node:fs/promises'
import { parseArgs } from 'node:util'
import { groups } from './groups.js'
import { withBench } from './support/bench.js'
import { describeMachine } from './support/machine.js'
import { svg } from './support/plot.js'
import { markdown } from './support/report.js'

const { values } = parseArgs({
  options: { quick: { type: 'boolean', default: false }, only: { type: 'string', multiple: true } },
})
const ids = groups.map(({ id }) => id)
const unknown = values.only?.filter((id) => !ids.includes(id)) ?? []
if (unknown.length > 0) throw new TypeError(`No group ${unknown.join(', ')}: there are ${ids.join(', ')}`)
const chosen = groups.filter(({ id }) => values.only?.includes(id) ?? true)
const isWhole = !values.quick && chosen.length === groups.length
const startedAt = new Date()

await withBench(values.quick, async (bench) => {
  const machine = await describeMachine(bench)
  const tables = []
  for (const group of chosen) {
    for (const table of await group.measure(bench)) {
      tables.push(table)
      console.info(`\n${markdown(table)}\n`)
    }
  }
  const seconds = Math.round((Date.now() - startedAt.getTime()) / 1000)
  const head = [
    '# Results',
    '',
    'Written by `npm run bench`; README.md says what the figures mean. Each is the median of all rounds, with the least and the most of them in brackets.',
    '',
    ...[`${startedAt.toISOString().slice(0, 16)}Z, ${seconds} s`, ...machine].map((line) => `- ${line}`),
  ].join('\n')
  const results = `${[head, ...tables.map(markdown)].join('\n\n')}\n`
  console.info(`\n${head}`)
  // A partial or quick run replaces no results.
  if (!isWhole) return
  await writeFile(new URL('RESULTS.md', import.meta.url), results)
  for (const { plot } of tables) {
    if (plot !== undefined) await writeFile(new URL(plot.file, import.meta.url), svg(plot))
  }
})
