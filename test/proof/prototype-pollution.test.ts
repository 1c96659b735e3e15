import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { useBundle } from '../support/bundle.js'

const bundled = useBundle('test/support/polluted-child.ts')

test('what another library puts on Object.prototype breaks no adapter, and is no option of ours', () => {
  const printed = execFileSync(process.execPath, [bundled()], { encoding: 'utf8' })
  expect(JSON.parse(printed)).toEqual({
    outcomes: { core: 'handled', node: 'handled', express: 'handled', fastify: 'handled' },
    runs: [false, false, false, false, 'called'],
  })
})
