import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'
import { answerTo, type OutcomeName } from 'tix-webhooks'
import { describe, expect, onTestFinished, test } from 'vitest'
import { resolveSettings } from '../src/settings.js'
import { problemsOf, snippetsFolder, snippetsOf } from './support/compile.js'
import { ROOT } from './support/source.js'

const read = (file: string): string => readFileSync(`${ROOT}${file}`, 'utf8')

/** The rows of the table under a heading, as the texts of their cells. */
function tableUnder(heading: string): string[][] {
  const section = read('README.md').split(`\n## ${heading}\n`)[1]?.split('\n## ')[0] ?? ''
  const rows = section.split('\n').filter((line) => line.startsWith('| `'))
  return rows.map((row) =>
    row
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim().replaceAll('`', '')),
  )
}

test.each([
  ['README.md', 8],
  ['CONTRIBUTING.md', 1],
  ['docs/idempotency.md', 10],
  ['docs/testing.md', 11],
  ['docs/sandbox.md', 3],
])(
  'every snippet of %s compiles as it stands, under strict',
  (file, atLeast) => {
    const snippets = snippetsOf(file, 'ts')
    expect(snippets.length).toBeGreaterThanOrEqual(atLeast)
    expect(
      problemsOf(Object.fromEntries(snippets.map((code, index) => [`snippet-${index + 1}`, code]))),
    ).toEqual([])
  },
  60_000,
)

describe('the commands', () => {
  test('are exactly two for a fresh clone: the demo and the tests', () => {
    const commands = snippetsOf('README.md', 'sh').map((code) => code.trim())
    expect(commands.filter((command) => command.includes('npm ci'))).toEqual([
      'npm ci && npm run demo',
      'npm ci && npm test',
    ])
  })

  test('are what CI and the workflow run', () => {
    expect(read('.ci/run')).toContain('npm ci && npm test')
    expect(read('.github/workflows/test.yml')).toContain('run: npm ci && npm test')
  })
})

test('the lint rule that is named finds a handler that forgets an await', () => {
  expect(read('README.md')).toContain('`nursery/noFloatingPromises`')
  const { write, remove } = snippetsFolder()
  onTestFinished(remove)
  const file = write(
    'forgetful',
    "async function issue(): Promise<void> {}\nexport const on = { 'order.created': async () => { issue() } }\n",
  )
  const config = join(dirname(file), 'biome.json')
  writeFileSync(
    config,
    '{ "root": false, "linter": { "rules": { "nursery": { "noFloatingPromises": "error" } } } }',
  )
  const args = [`${ROOT}node_modules/@biomejs/biome/bin/biome`, 'lint', '--config-path', config, file]
  const { status, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' })
  expect(stderr).toContain('lint/nursery/noFloatingPromises')
  expect(status).not.toBe(0)
})

test('the table of answers has every outcome, with the status that it really gets', () => {
  const promised = tableUnder('What the sender is told, and what it does next')
  expect(promised).toHaveLength(16)
  for (const [outcome, status] of promised) {
    expect(String(answerTo({ outcome: outcome as OutcomeName }).status)).toBe(status)
  }
})

test('the table of deadlines has the defaults that really hold', () => {
  const settings = resolveSettings({ secret: 'whsec_test', on: { 'order.created': () => {} } })
  const really: Record<string, number> = {
    timeoutSeconds: settings.timeoutMs / 1000,
    maxRunSeconds: settings.maxRunMs / 1000,
    leaseSeconds: settings.leaseMs / 1000,
    retentionSeconds: settings.retainMs / 1000,
    toleranceSeconds: settings.toleranceSeconds,
    maxBodyBytes: settings.maxBodyBytes,
  }
  const promised = tableUnder('Deadlines').map(([option, value]) => [
    option,
    Number(value?.replaceAll(',', '')),
  ])
  expect(Object.fromEntries(promised)).toEqual(really)
})

test.each(['README.md', 'docs/idempotency.md', 'docs/testing.md', 'docs/sandbox.md'])(
  'every file that %s links to is there',
  (page) => {
    const links = [...read(page).matchAll(/\]\((?!https?:|#)([^)#]+)(#[^)]*)?\)/g)].map(
      ([, file = '']) => file,
    )
    expect(links.length).toBeGreaterThan(2)
    for (const file of links) expect(read(posix.join(posix.dirname(page), file)).length).toBeGreaterThan(0)
  },
)
