import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { groups } from './groups.js'
import { withBench } from './support/bench.js'
import { conditions, versions } from './support/machine.js'
import { canWatch } from './support/others.js'
import { svg } from './support/plot.js'
import { markdown, page, summary, type Table } from './support/report.js'
import { tally } from './support/rounds.js'

/** The share of rounds that may be busy: with more, the figures are not published. */
const BUSY_ALLOWED = 0.05

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    only: { type: 'string', multiple: true },
    out: { type: 'string' },
  },
})
const ids = groups.map(({ id }) => id)
const unknown = values.only?.filter((id) => !ids.includes(id)) ?? []
if (unknown.length > 0) throw new TypeError(`No group ${unknown.join(', ')}: there are ${ids.join(', ')}`)
const chosen = groups.filter(({ id }) => values.only?.includes(id) ?? true)
const isWhole = !values.quick && chosen.length === groups.length
/** A partial or quick run replaces no results. */
const folder = values.out ?? (isWhole ? fileURLToPath(new URL('.', import.meta.url)) : undefined)
const startedAt = new Date()

await withBench(values.quick, async (bench) => {
  const before = await conditions(bench)
  const tables: Table[] = []
  for (const group of chosen) {
    const startMs = performance.now()
    for (const table of await group.measure(bench)) {
      tables.push(table)
      console.info(`\n${markdown(table)}\n`)
    }
    console.info(`… ${group.id} took ${Math.round((performance.now() - startMs) / 1000)} s`)
  }
  const minutes = ((Date.now() - startedAt.getTime()) / 60_000).toFixed(1)
  const head = [`${startedAt.toISOString().slice(0, 16)}Z, ${minutes} minutes`, ...before, roundsText()]
  const verdict = values.quick ? ['A quick run: its figures mean nothing.'] : summary(tables)
  console.info(`\n${[...head, '', ...verdict].join('\n')}`)
  if (folder === undefined) return
  // Elsewhere nothing is published.
  if (values.out === undefined && tally.busy > BUSY_ALLOWED * tally.kept) {
    console.error(`\nNothing is written, because the machine was busy: ${roundsText()}`)
    process.exitCode = 1
    return
  }
  await mkdir(folder, { recursive: true })
  await writeFile(join(folder, 'RESULTS.md'), page(tables, head, await versions(bench)))
  for (const plot of tables.flatMap((table) => ('plots' in table ? (table.plots ?? []) : []))) {
    await writeFile(join(folder, plot.file), svg(plot))
  }
  console.info(`\nRESULTS.md and the plots are in ${folder}`)
})

function roundsText(): string {
  const { kept, repeated, busy } = tally
  if (!canWatch) return `${kept} rounds; this system does not count what other processes take`
  return `${kept} rounds; ${repeated} more were thrown away, because other processes were busy, and ${busy} were kept although they were`
}
