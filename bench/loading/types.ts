import { execFileSync } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Bench } from '../support/bench.js'
import { timeBeside } from '../support/comparison.js'
import type { Table } from '../support/report.js'
import { alternate } from '../support/rounds.js'

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url))

/** The figures of tsc, by its own names. */
type Diagnostics = Readonly<Record<string, number>>

const SHOWN = { 'Check time': 'seconds to check', Types: 'types', Instantiations: 'instantiations' } as const

/** The cost of our types when compiling an app. */
export async function types(bench: Bench): Promise<Table> {
  bench.progress('loading: types')
  const folder = await bench.folder()
  const contestants: (() => Promise<Diagnostics>)[] = []
  for (const file of ['without.ts', 'with.ts']) {
    const config = join(folder, `${file}.json`)
    await writeFile(config, JSON.stringify(configOf(here(`types/${file}`))))
    contestants.push(async () => compile(config))
  }
  const [without = [], withUs = []] = await alternate(bench.size(4, 1), contestants)
  return {
    title: 'Types',
    ratio: 'What tsc does for an app with all adapters, to the same app without us',
    unit: 'as named',
    comparisons: Object.entries(SHOWN).map(([figure, name]) => {
      const of = (runs: readonly Diagnostics[]) => runs.map((run) => run[figure] as number)
      return timeBeside({ name, figures: of(withUs) }, { name: 'without us', figures: of(without) })
    }),
    notes: ['An app with Express, Fastify, Hono, ioredis and pg, strict, with skipLibCheck.'],
  }
}

function configOf(file: string): object {
  return {
    compilerOptions: {
      target: 'es2022',
      module: 'nodenext',
      types: ['node'],
      typeRoots: [here('../../node_modules/@types')],
      strict: true,
      skipLibCheck: true,
      noEmit: true,
      paths: { 'tix-webhooks/*': [here('../../dist/*.d.ts')] },
    },
    files: [file],
  }
}

function compile(config: string): Diagnostics {
  const tsc = here('../../node_modules/typescript/bin/tsc')
  const output = execFileSync(process.execPath, [tsc, '-p', config, '--extendedDiagnostics'], {
    encoding: 'utf8',
  })
  return Object.fromEntries(
    [...output.matchAll(/^(.+?):\s+([\d.]+)[sK]?$/gm)].map(([, name = '', figure]) => [name, Number(figure)]),
  )
}
