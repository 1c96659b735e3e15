/** @module-tag slow */
import { expect, onTestFinished, test } from 'vitest'
import { snippetsFolder, snippetsOf } from '../../support/compile.js'
import { readPage } from '../../support/pages.js'

test('the handler of docs/testing.md sends two mails in the two runs that the page names, and none in a third if it forgets its await', async () => {
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
  const wrongIn = async (name: string, code: string) => {
    const { all } = await import(/* @vite-ignore */ write(name, code))
    expect(all).toHaveLength(6)
    const wrong: Record<string, number> = {}
    for (const { name, run } of all) {
      const { sent } = await run()
      if (sent.length !== 1) wrong[name] = sent.length
    }
    return wrong
  }
  const page = readPage('docs/testing.md')
  const named = /^Two of the six fail, `(.*?)` and `(.*?)`/m.exec(page)?.slice(1)
  expect(await wrongIn('snippet', code)).toEqual(Object.fromEntries((named ?? []).map((name) => [name, 2])))

  const forgetful = code.replace('=> mailer.send', '=> void mailer.send')
  const lost = /Without its await[^`]*`(.*?)`/.exec(page)?.[1] ?? ''
  expect(await wrongIn('forgetful', forgetful)).toMatchObject({ [lost]: 0 })
})
