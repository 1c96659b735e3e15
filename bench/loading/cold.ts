import { spawnSync } from 'node:child_process'
import { mkdir, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Bench } from '../support/bench.js'
import { short, spread, times } from '../support/figures.js'
import { type Goal, judged } from '../support/goal.js'
import type { Table } from '../support/report.js'
import { alternate, ratios } from '../support/rounds.js'

const GOAL: Goal = { atMost: 1.1 }
const BOTH = ['express', 'tix-webhooks/express']

/** The milliseconds of one new process. */
interface Cold {
  readonly importing: number
  readonly whole: number
}

const STATEMENTS = {
  ESM: { type: 'module', load: (name: string) => `await import('${name}')` },
  CommonJS: { type: 'commonjs', load: (name: string) => `require('${name}')` },
} as const

/** The time that our Express adapter adds to the start of a process that loads Express. */
export async function coldImports(bench: Bench): Promise<Table> {
  bench.progress('loading: imports')
  const folder = await appFolder(bench)
  const rows: string[][] = []
  for (const [name, { type, load }] of Object.entries(STATEMENTS)) {
    const contestants = [['express'], BOTH, ['tix-webhooks/express']].map((modules) => async () => {
      const code = `const start = performance.now(); ${modules.map(load).join('; ')}; console.log(performance.now() - start)`
      return startNode(folder, [`--input-type=${type}`, '-e', code])
    })
    const [alone = [], both = [], ours = []] = await alternate(bench.size(31, 1), contestants)
    const figures = (colds: readonly Cold[], what: keyof Cold) => colds.map((cold) => cold[what])
    const [importing, whole] = (['importing', 'whole'] as const).map((what) =>
      ratios(figures(both, what), figures(alone, what)),
    ) as [number[], number[]]
    rows.push([
      name,
      spread(figures(alone, 'importing'), short),
      spread(figures(both, 'importing'), short),
      spread(importing, times),
      ...judged(importing, GOAL),
      spread(figures(ours, 'importing'), short),
      spread(whole, times),
    ])
  }
  return {
    title: 'Cold import of tix-webhooks/express, in a new process each',
    columns: [
      'modules',
      'express, ms',
      'and tix-webhooks/express',
      'ratio',
      'goal',
      '',
      'ours alone',
      'whole process, ratio',
    ],
    rows,
    notes: [
      'From before the import until after it, within the process. The files are in the cache of the system: the first round is not counted.',
    ],
  }
}

/** A folder in which both packages are installed for plain Node. */
async function appFolder(bench: Bench): Promise<string> {
  const folder = join(await bench.folder(), 'app')
  const modules = join(folder, 'node_modules')
  await mkdir(modules, { recursive: true })
  await symlink(fileURLToPath(new URL('../..', import.meta.url)), join(modules, 'tix-webhooks'))
  await symlink(fileURLToPath(new URL('../node_modules/express', import.meta.url)), join(modules, 'express'))
  return folder
}

function startNode(cwd: string, args: readonly string[]): Cold {
  const start = performance.now()
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd, encoding: 'utf8' })
  const whole = performance.now() - start
  if (status !== 0) throw new Error(stderr)
  return { importing: Number(stdout), whole }
}
