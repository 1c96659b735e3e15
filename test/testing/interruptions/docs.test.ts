/** @module-tag slow */
import { expect, onTestFinished, test } from 'vitest'
import { snippetsFolder, snippetsOf } from '../../support/compile.js'
import { readPage } from '../../support/pages.js'

test('the handler of docs/testing.md sends two mails in the two runs that the page names', async () => {
  const [snippet = '', ...others] = snippetsOf('docs/testing.md', 'ts').filter((code) =>
    code.includes('interruptions('),
  )
  expect(others).toEqual([])
  const { write, remove } = snippetsFolder()
  onTestFinished(remove)
  // Without the tests that it makes.
  const [code = ''] = snippet
    .replace('const all', 'export const all')
    .replace(/^import .* from 'vitest'$/m, '')
    .split('for (const { name')
  const { all } = await import(/* @vite-ignore */ write('snippet', code))
  expect(all).toHaveLength(6)
  const wrong: string[] = []
  for (const { name, run } of all) {
    const { sent } = await run()
    if (sent.length !== 1) wrong.push(name)
  }
  const named = /^Two of the six fail, `(.*?)` and `(.*?)`/m.exec(readPage('docs/testing.md'))
  expect(wrong).toEqual(named?.slice(1))
})
