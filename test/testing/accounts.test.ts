/** @module-tag slow */
import { expect, onTestFinished, test, vi } from 'vitest'
import { snippetsFolder, snippetsOf } from '../support/compile.js'

test('accounts are tested by deliveries to their addresses, by endpoints of the sandbox, and by callHandler', async () => {
  const asserted = vi.spyOn(console, 'assert').mockImplementation(() => {})
  const { write, remove } = snippetsFolder()
  onTestFinished(() => {
    remove()
    vi.restoreAllMocks()
  })
  const [code = '', ...others] = snippetsOf('docs/testing.md', 'ts').filter((one) => one.includes('account:'))
  expect(others).toEqual([])
  const { orders } = await import(
    /* @vite-ignore */ write('snippet', code.replace('const orders', 'export const orders'))
  )
  expect(asserted.mock.calls).toEqual(Array(4).fill([true]))
  const currencies = orders.map((order: string) => order.split(' ')[0])
  expect(currencies).toEqual(['EUR', 'EUR', 'USD', 'USD'])
})
