/** @module-tag slow */
import { expect, onTestFinished, test, vi } from 'vitest'
import { snippetsFolder, snippetsOf } from '../support/compile.js'

test('the snippet of docs/testing.md parks an order, and replays it', async () => {
  const asserted = vi.spyOn(console, 'assert').mockImplementation(() => {})
  const { write, remove } = snippetsFolder()
  onTestFinished(() => {
    remove()
    vi.restoreAllMocks()
  })
  const [code = '', ...others] = snippetsOf('docs/testing.md', 'ts').filter((one) =>
    one.includes('memoryFailures()'),
  )
  expect(others).toEqual([])
  await import(/* @vite-ignore */ write('snippet', code))
  expect(asserted.mock.calls).toEqual(Array(5).fill([true]))
})
