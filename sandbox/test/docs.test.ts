/** @module-tag slow */
import { readFileSync } from 'node:fs'
import { SCENARIOS } from 'tix-webhooks/testing'
import { expect, onTestFinished, test, vi } from 'vitest'
import { snippetsFolder, snippetsOf } from '../../test/support/compile.js'
import { ROOT } from '../../test/support/root.js'
import { ASSUMPTIONS, type AssumptionName, DEFAULT_ASSUMPTIONS } from '../service/assumptions.js'

const page = readFileSync(`${ROOT}sandbox/docs/sandbox.md`, 'utf8')

/** The rows of the table that starts with this heading. */
function rowsOf(heading: string): string[] {
  const rows = page.split(`| ${heading} |`)[1]?.split('\n\n')[0]?.split('\n').slice(2) ?? []
  return rows.filter((row) => row.startsWith('|'))
}

const EXPECTED = {
  genuine: '2xx',
  forged: '4xx',
  unusable: 'anything but 2xx, so that nothing is lost',
  unknown: '2xx',
} as const

test('sandbox/docs/sandbox.md lists every scenario, as the list has it', () => {
  expect(rowsOf('scenario')).toEqual(
    SCENARIOS.map(
      ({ name, description, verdict }) => `| \`${name}\` | ${description} | ${EXPECTED[verdict]} |`,
    ),
  )
})

test('sandbox/docs/sandbox.md lists every assumption with its choices, and the default', () => {
  expect(rowsOf('assumption')).toEqual(
    Object.entries(ASSUMPTIONS).map(([name, { says, choices }]) => {
      const list = Object.entries(choices).map(([choice, what]) => {
        const isDefault = DEFAULT_ASSUMPTIONS[name as AssumptionName] === choice
        return `\`${choice}\`${isDefault ? ' (default)' : ''}: ${what}`
      })
      return `| \`${name}\` | ${says} | ${list.join('; ').replaceAll('|', '\\|')} |`
    }),
  )
})

test.each([
  ['retries', /advance\('72h'\)/, 1],
  ['an event that fails for four days', /hooks\.replay/, 3],
])('sandbox/docs/sandbox.md is true of %s', async (_, part, asserts) => {
  const [code, ...others] = snippetsOf('sandbox/docs/sandbox.md', 'ts').filter((one) => part.test(one))
  expect([code, others]).toEqual([expect.any(String), []])
  const asserted = vi.spyOn(console, 'assert').mockImplementation(() => {})
  const issued = vi.fn(async () => {})
  vi.stubGlobal('issueTickets', issued)
  vi.spyOn(console, 'error').mockImplementation(() => {})
  const { write, remove } = snippetsFolder()
  onTestFinished(() => {
    remove()
    vi.unstubAllGlobals()
    vi.restoreAllMocks()
  })
  await import(/* @vite-ignore */ write('snippet', code ?? ''))
  expect(asserted.mock.calls.map(([holds]) => holds)).toEqual(Array.from({ length: asserts }, () => true))
  expect(issued).toHaveBeenCalledOnce()
})
