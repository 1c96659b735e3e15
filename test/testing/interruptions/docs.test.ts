/** @module-tag slow */
import { expect, onTestFinished, test, vi } from 'vitest'
import { snippetsFolder, snippetsOf } from '../../support/compile.js'

const SNIPPETS = snippetsOf('docs/testing.md', 'ts').filter((code) => code.includes('interruptions('))

/** Loads a snippet, with the names that it has at its top. */
async function load(code: string) {
  const { write, remove } = snippetsFolder()
  onTestFinished(remove)
  return import(/* @vite-ignore */ write('snippet', code.replaceAll(/^const /gm, 'export const ')))
}

test('the handler that most people write sends two mails in the two runs that docs/testing.md names', async () => {
  const asserted = vi.spyOn(console, 'assert').mockImplementation(() => {})
  onTestFinished(() => void vi.restoreAllMocks())
  const { wrong, all } = await load(SNIPPETS[0] ?? '')
  expect(asserted.mock.calls).toEqual([[true], [true]])
  expect([wrong.length, all.length]).toEqual([2, 6])
})

test('the one with the key of the event sends one', async () => {
  // Its tests are made by this one.
  const [code = ''] = (SNIPPETS[1] ?? '').split('for (const { name')
  const { all } = await load(code.replace("import { expect, test } from 'vitest'\n", ''))
  expect(all.length).toBe(4)
  for (const { run, story } of all) expect((await run()).mails.size, story()).toBe(1)
})
