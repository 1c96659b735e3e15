import { spawnSync } from 'node:child_process'
import { mkdir, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Bench } from '../support/bench.js'
import { type Comparison, timeBeside } from '../support/comparison.js'
import type { Goal } from '../support/goal.js'
import type { Table } from '../support/report.js'
import { alternate } from '../support/rounds.js'

const GOAL: Goal = { atMost: 1.1 }
const BOTH = ['express', 'tix-webhooks/express']

const STATEMENTS = {
  ESM: { type: 'module', load: (name: string) => `await import('${name}')` },
  CommonJS: { type: 'commonjs', load: (name: string) => `require('${name}')` },
} as const

/** The time that our Express adapter adds to the start of a process that loads Express. */
export async function coldImports(bench: Bench): Promise<Table> {
  bench.progress('loading: imports')
  const folder = await appFolder(bench)
  const comparisons: Comparison[] = []
  for (const [name, { type, load }] of Object.entries(STATEMENTS)) {
    const contestants = [['express'], BOTH].map((modules) => async () => {
      const code = `const start = performance.now(); ${modules.map(load).join('; ')}; console.log(performance.now() - start)`
      return startNode(folder, [`--input-type=${type}`, '-e', code])
    })
    const [alone = [], both = []] = await alternate(bench.size(24, 1), contestants)
    comparisons.push(
      timeBeside(
        { name: `express and tix-webhooks/express, ${name}`, figures: both },
        { name: 'express alone', figures: alone },
        GOAL,
      ),
    )
  }
  return {
    title: 'Cold import',
    ratio: 'The time until both are imported, to that of Express alone',
    unit: 'milliseconds',
    comparisons,
    notes: [
      'Each in a new process, from before the import until after it. The files are in the cache of the system.',
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

/** The milliseconds of the import. */
function startNode(cwd: string, args: readonly string[]): number {
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd, encoding: 'utf8' })
  if (status !== 0) throw new Error(stderr)
  return Number(stdout)
}
