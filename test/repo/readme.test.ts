import { describe, expect, test } from 'vitest'
import { checkWords, parse } from '../../sandbox/cli/arguments/arguments.js'
import { find } from '../../sandbox/cli/arguments/find-command.js'
import { commands } from '../../sandbox/cli/commands.js'
import { PACKED_PAGES, PAGES, readPage } from '../support/pages.js'
import { shellWords } from '../support/shell-words.js'

test('the README has at most 300 lines', () => {
  expect(readPage('README.md').split('\n').length - 1).toBeLessThanOrEqual(300)
})

test('the README names two commands for a fresh clone: the demo, and the tests that CI runs', () => {
  const commands = [...readPage('README.md').matchAll(/^npm ci && .*$/gm)].map(([command]) => command)
  expect(commands).toEqual(['npm ci && npm run demo', 'npm ci && npm test'])
})

describe('the pages for users', () => {
  const wordsOf = (page: string): number => readPage(page).split(/\s+/).filter(Boolean).length
  const pages = PACKED_PAGES.filter((page) => page === 'README.md' || page.startsWith('docs/')).concat(
    'sandbox/README.md',
    'sandbox/docs/sandbox.md',
  )

  test('are read in five minutes each: at most 2,000 words, with their code', () => {
    const words = pages.map((page): [string, number] => [page, wordsOf(page)])
    expect(words.filter(([, count]) => count > 2_000)).toEqual([])
  })

  test('have at most 15,000 words together', () => {
    expect(pages.length).toBeGreaterThan(10)
    expect(pages.reduce((sum, page) => sum + wordsOf(page), 0)).toBeLessThanOrEqual(15_000)
  })
})

test('the figures of the README are those that were measured', () => {
  const medians = [
    ...readPage('bench/RESULTS.md').matchAll(/^\| receive\(\), (\w+) handler, 1 in flight +\| ([\d.]+)/gm),
  ]
  const measured = new Map(medians.map(([, handler, median]) => [handler, Math.round(Number(median))]))
  const quoted = [...readPage('README.md').matchAll(/(\d+) µs [^,:]*?\s(a?sync)hronous/g)]
  expect(new Map(quoted.map(([, figure, handler]) => [handler, Number(figure)]))).toEqual(measured)
  expect(measured.size).toBe(2)
})

/** The `tix-webhooks` command lines on a page, split into words. */
const commandLines = (page: string): string[][] =>
  [...readPage(page).matchAll(/npx tix-webhooks ([^`\n&|]+)/g)].map(([, line = '']) => shellWords(line).words)

test.each(PAGES.filter((page) => commandLines(page).length > 0))(
  'the commands of %s are taken by the CLI',
  (page) => {
    for (const words of commandLines(page)) {
      const request = find(words, commands)
      if (request.what !== 'run') throw new Error(`${words.join(' ')} runs nothing`)
      checkWords(parse(request.argv, request.command).words, request.command)
    }
  },
)
