import { readFileSync } from 'node:fs'
import { SCENARIOS } from 'tix-webhooks/testing'
import { expect, test } from 'vitest'
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
