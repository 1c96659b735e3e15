/** @module-tag slow */
import { SCENARIOS } from 'tix-webhooks/testing'
import { expect, onTestFinished, test, vi } from 'vitest'
import { snippetsFolder, snippetsOf } from '../../test/support/compile.js'
import { readPage, tableUnder } from '../../test/support/pages.js'
import { ASSUMPTIONS } from '../service/assumptions.js'

const PAGE = 'sandbox/docs/sandbox.md'

test('docs/testing.md lists every scenario, with its verdict', () => {
  const listed = tableUnder('docs/testing.md', 'Go through the scenarios').flatMap(
    ([verdict = '', , scenarios = '']) =>
      (scenarios.match(/[\w-]+/g) ?? []).map((name) => [name, verdict.replaceAll('`', '')]),
  )
  expect(Object.fromEntries(listed)).toEqual(
    Object.fromEntries(SCENARIOS.map(({ name, verdict }) => [name, verdict])),
  )
})

test(`${PAGE} lists every assumption with its choices`, () => {
  for (const [name, { choices }] of Object.entries(ASSUMPTIONS)) {
    expect(readPage(PAGE)).toContain(`${name}=${Object.keys(choices).join('\\|')}`)
  }
})

test(`${PAGE} is true of retries`, async () => {
  const [code = '', ...others] = snippetsOf(PAGE, 'ts')
  expect(others).toEqual([])
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
  await import(/* @vite-ignore */ write('snippet', code))
  expect(asserted.mock.calls).toEqual([[true]])
  expect(issued).toHaveBeenCalledOnce()
})
