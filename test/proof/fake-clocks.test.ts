import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { describe, expect, test } from 'vitest'
import { bin } from '../support/packed.js'
import { WAIT_LIMIT_MS } from '../support/patience.js'
import { ROOT } from '../support/root.js'

const FOLDER = join(ROOT, 'test/support/fake-clocks')

/** A real runner, which runs all parts in `support/fake-clocks/parts.cjs` under its own fake clock. */
interface Runner {
  readonly name: string
  readonly command: readonly string[]
  /** Options of the clock. Default: none. */
  readonly clock?: object
  /** Parts that this clock cannot run, because it stops Node itself. */
  readonly omitted?: readonly string[]
  /** Parts that are expected to end with an error. */
  readonly ends?: Readonly<Record<string, unknown>>
}

const jest = (file: string, more: object = {}): string[] => [
  bin('jest'),
  '--config',
  JSON.stringify({ rootDir: FOLDER, testMatch: [`**/${file}`], transform: {}, ...more }),
]
const vitest = (file: string): string[] => [
  bin('vitest'),
  'run',
  '--config',
  join(FOLDER, 'vitest.config.mjs'),
  file,
]

const DATED = { now: Date.UTC(2026, 4, 17) }
const IN_1970 = {
  scenarios: expect.stringMatching(
    /^TypeError: The clock stands at 1970-01-01T00:00:00\.000Z, .* set your fake clock to a date/,
  ),
}

const PARTS = [
  'signedDelivery',
  'response.text()',
  'scenarios',
  'deliverWithRetries',
  'callHandler',
  'createTestClock',
  'interruptions',
  'storeCases',
  'createSandbox',
  'createSandbox({ startAt })',
  'sandbox.trigger of a scenario',
  'sandbox.fetch',
  'sandbox.listen',
]

const RUNNERS: readonly Runner[] = [
  { name: 'vitest', command: vitest('vitest.test.mjs') },
  { name: 'jest in CommonJS', command: jest('jest.test.cjs') },
  {
    name: 'jest in ESM with a date',
    command: ['--experimental-vm-modules', ...jest('jest.test.mjs')],
    clock: DATED,
  },
  {
    name: 'jest, where the clock is put in before anything is imported',
    command: jest('jest.test.cjs', { fakeTimers: { enableGlobally: true } }),
  },
  { name: 'node:test', command: [join(FOLDER, 'node.test.mjs')], ends: IN_1970 },
  { name: 'node:test with a date', command: [join(FOLDER, 'node.test.mjs')], clock: DATED },
  {
    name: 'sinon',
    command: [join(FOLDER, 'sinon.cjs')],
    omitted: ['response.text()', 'sandbox.listen'],
    ends: IN_1970,
  },
  {
    name: 'sinon as the docs say',
    command: [join(FOLDER, 'sinon.cjs')],
    clock: { ...DATED, toNotFake: ['nextTick', 'queueMicrotask'] },
  },
]

async function outcomesOf({ command, clock = {}, omitted = [] }: Omit<Runner, 'name'>): Promise<unknown> {
  const temporary = mkdtempSync(join(tmpdir(), 'tix-webhooks-clocks-'))
  const outcomes = join(temporary, 'outcomes.json')
  // Without our environment: a runner would see our runner's variables and act as its worker.
  const env = {
    PATH: process.env.PATH,
    OUTCOMES: outcomes,
    CLOCK: JSON.stringify(clock),
    OMITTED: JSON.stringify(omitted),
  }
  const child = spawn(process.execPath, ['--max-old-space-size=1024', ...command], {
    cwd: FOLDER,
    env,
    timeout: WAIT_LIMIT_MS,
    killSignal: 'SIGKILL',
  })
  try {
    const output = Promise.all([text(child.stdout), text(child.stderr)])
    const [exitCode, signal] = await once(child, 'exit')
    if (signal === null && exitCode !== 0)
      throw new Error(`It ended with ${exitCode}: ${(await output).join('')}`)
    return JSON.parse(readFileSync(outcomes, 'utf8'))
  } finally {
    rmSync(temporary, { recursive: true })
  }
}

describe('the kit and the sandbox under the fake clock of', () => {
  test.each(RUNNERS)('$name', async ({ omitted = [], ends = {}, ...runner }) => {
    const done = PARTS.filter((name) => !omitted.includes(name)).map((name) => [name, 'ok'])
    expect(await outcomesOf({ ...runner, omitted })).toEqual({ ...Object.fromEntries(done), ...ends })
  })
})

test('in jsdom the sandbox says at once that it needs Node, and how to have it', async () => {
  expect(await outcomesOf({ command: vitest('jsdom.test.mjs') })).toEqual({
    createSandbox: expect.stringMatching(
      /^Error: The sandbox needs Node, .* Begin the test file with .*@vitest-environment node\.$/,
    ),
  })
})
