import { execFileSync } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Bench } from '../support/bench.js'
import { short, spread, times, whole } from '../support/figures.js'
import type { Table } from '../support/report.js'
import { alternate, type Figures, ratios } from '../support/rounds.js'

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url))

/** The figures of tsc, by its own names. */
type Diagnostics = Readonly<Record<string, number>>

const SHOWN = {
  'Check time': short,
  'Total time': short,
  Types: whole,
  Instantiations: whole,
  'Memory used': (kilobytes: number) => `${whole(kilobytes / 1024)} MB`,
} as const

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
  const [without = [], withUs = []] = await alternate(bench.size(5, 1), contestants)
  const rows = Object.entries(SHOWN).map(([name, format]) => {
    const of = (runs: readonly Diagnostics[]): Figures => runs.map((run) => run[name] as number)
    const [before, after] = [of(without), of(withUs)]
    return [name, spread(before, format), spread(after, format), spread(ratios(after, before), times)]
  })
  return {
    title: 'Types: tsc of an app with Express, Fastify, Hono, ioredis and pg',
    columns: ['what', 'without us', 'with all adapters', 'ratio'],
    rows,
    notes: ['Times in seconds. With skipLibCheck, strict.'],
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
