import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { SCENARIOS } from 'tix-webhooks/testing'
import { describe, expect, test } from 'vitest'
import { bin } from '../support/packed.js'
import { ROOT } from '../support/root.js'

interface Run {
  readonly exitCode: number
  readonly passed: string[]
  readonly failed: string[]
}

/** The real runners, each with its example in `examples/testing`, on the built package. */
const RUNNERS = {
  vitest: {
    app: 'app.ts',
    command: (folder: string) => [
      ...[bin('vitest'), 'run', '--config', join(folder, 'vitest.config.ts')],
      ...['--reporter=json', '--no-cache'],
    ],
    results: resultsOfJson,
  },
  jest: {
    app: 'app.cjs',
    command: (folder: string) => [bin('jest'), '--config', join(folder, 'jest.config.cjs'), '--json'],
    results: resultsOfJson,
  },
  'node-test': {
    app: 'app.mjs',
    command: (folder: string) => ['--test', '--test-reporter=tap', join(folder, 'app.test.mjs')],
    results: resultsOfTap,
  },
} as const

type Runner = keyof typeof RUNNERS

async function runTests(runner: Runner, folder: string): Promise<Run> {
  const { command, results } = RUNNERS[runner]
  // Without our environment: a runner would see our runner's variables and act as its worker.
  const env = { PATH: process.env.PATH }
  const child = spawn(process.execPath, command(folder), { cwd: folder, env })
  const [stdout, stderr, [exitCode]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close'),
  ])
  try {
    return { exitCode, ...results(stdout) }
  } catch (cause) {
    throw new Error(`${runner} gave no results, but ${stdout}${stderr}`, { cause })
  }
}

/** The results in vitest's `--reporter=json`, or jest's `--json`. */
function resultsOfJson(stdout: string): Omit<Run, 'exitCode'> {
  const { testResults } = JSON.parse(stdout) as {
    testResults: { assertionResults: { title: string; status: string }[] }[]
  }
  const results = testResults.flatMap(({ assertionResults }) => assertionResults)
  const titled = (status: string) =>
    results.filter((result) => result.status === status).map(({ title }) => title)
  return { passed: titled('passed'), failed: titled('failed') }
}

function resultsOfTap(stdout: string): Omit<Run, 'exitCode'> {
  const titled = (start: string) =>
    [...stdout.matchAll(RegExp(`^${start} \\d+ - (.+)$`, 'gm'))].map(([, title = '']) => title)
  return { passed: titled('ok'), failed: titled('not ok') }
}

/**
 * Runs a copy of the example with a handler that does nothing: inside the package, whose name it imports; and in a hidden folder, so that
 * other tests and tools ignore it.
 */
async function runBroken(runner: Runner): Promise<Run> {
  const folder = mkdtempSync(join(ROOT, 'test', '.snippets-'))
  try {
    cpSync(exampleOf(runner), folder, { recursive: true })
    const file = join(folder, RUNNERS[runner].app)
    const app = readFileSync(file, 'utf8')
    const broken = app.replace('await mailTickets(order.buyer_email, tickets)', '')
    expect(broken).not.toBe(app)
    writeFileSync(file, broken)
    return await runTests(runner, folder)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

const exampleOf = (runner: Runner): string => join(ROOT, 'examples/testing', runner)

// All but that of an event.* alone.
const PLAYED = SCENARIOS.filter(({ name }) => name !== 'thin')
const NAMES = PLAYED.map(({ name }) => name)
const GENUINE = PLAYED.filter(({ verdict }) => verdict === 'genuine').map(({ name }) => name)
const passing = (...names: string[]): string[] => names.map((name) => `passes the scenario ${name}`)

const ONCE = 'mails the tickets of an order, once'
const FREE = 'mails nothing for a free order'
const RETRIED = 'mails an order that fails twice at the third attempt, a minute later'

describe.concurrent('the example of the testing kit for', () => {
  test.each<[Runner, string[], string[]]>([
    ['vitest', passing(...NAMES), passing(...GENUINE)],
    ['jest', ['passes every scenario'], ['passes every scenario']],
    ['node-test', passing(...NAMES), passing(...GENUINE)],
  ])('%s passes, and fails when the handler does nothing', async (runner, scenarios, genuine) => {
    const passed = [ONCE, FREE, RETRIED, ...scenarios]
    expect(await runTests(runner, exampleOf(runner))).toEqual({ exitCode: 0, passed, failed: [] })
    expect(await runBroken(runner)).toMatchObject({ exitCode: 1, failed: [ONCE, RETRIED, ...genuine] })
  })
})
