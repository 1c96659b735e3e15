import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { checkWords, parse } from '../cli/arguments/arguments.js'
import { find } from '../cli/arguments/find-command.js'
import { commands } from '../cli/commands.js'
import { problemsOf, snippetsFolder, snippetsOf } from './support/compile.js'
import { PAGES, readPage } from './support/pages.js'
import { shellWords } from './support/shell-words.js'
import { ROOT } from './support/source.js'

test('the README has at most 300 lines', () => {
  expect(readPage('README.md').split('\n').length - 1).toBeLessThanOrEqual(300)
})

test('every snippet of every page compiles as it stands, under strict', () => {
  // The snippets of frameworks.md are files, most of them of frameworks that are not installed: examples.frameworks.test.ts.
  const snippets = PAGES.filter((page) => page !== 'docs/frameworks.md').flatMap((page) =>
    snippetsOf(page, 'ts').map((code, index) => [`${page.replaceAll(/\W/g, '-')}-${index + 1}`, code]),
  )
  expect(snippets.length).toBeGreaterThan(40)
  expect(problemsOf(Object.fromEntries(snippets))).toEqual([])
}, 120_000)

/** The command lines of `tix-webhooks` on a page, as their words. */
const commandLines = (page: string): string[][] =>
  [...readPage(page).matchAll(/npx tix-webhooks ([^`\n&|]+)/g)].map(([, line = '']) => shellWords(line).words)

describe('the commands', () => {
  test('are exactly two for a fresh clone: the demo and the tests', () => {
    const lines = snippetsOf('README.md', 'sh').map((code) => code.trim())
    expect(lines.filter((line) => line.includes('npm ci'))).toEqual([
      'npm ci && npm run demo',
      'npm ci && npm test',
    ])
  })

  test('are what CI and the workflow run', () => {
    expect(readPage('.ci/run')).toContain('npm ci && npm test')
    expect(readPage('.github/workflows/test.yml')).toContain('run: npm ci && npm test')
  })

  test.each(PAGES.filter((page) => commandLines(page).length > 0))('of %s are taken by the CLI', (page) => {
    for (const words of commandLines(page)) {
      const request = find(words, commands)
      if (request.what !== 'run') throw new Error(`${words.join(' ')} runs nothing`)
      checkWords(parse(request.argv, request.command).words, request.command)
    }
  })

  test('of the README are few, in the order of its story', () => {
    expect(commandLines('README.md').map(([name]) => name)).toEqual([
      'secret',
      'sandbox',
      'trigger',
      'advance',
      'check',
    ])
  })
})

test('the lint rule that is named finds a handler that forgets an await', () => {
  expect(readPage('README.md')).toContain('`nursery/noFloatingPromises`')
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
