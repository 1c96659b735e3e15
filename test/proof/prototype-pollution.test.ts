import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { buildSync } from 'esbuild'
import { expect, onTestFinished, test } from 'vitest'
import { ROOT } from '../support/root.js'

test('what another library puts on Object.prototype breaks no adapter, and is no option of ours', () => {
  // Inside the tree, so that the frameworks are found.
  const folder = mkdtempSync(join(ROOT, 'test', '.polluted-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  buildSync({
    entryPoints: [join(ROOT, 'test/support/polluted-child.ts')],
    outdir: folder,
    outExtension: { '.js': '.mjs' },
    tsconfig: join(ROOT, 'tsconfig.json'),
    bundle: true,
    external: ['express', 'fastify'],
    platform: 'node',
    format: 'esm',
    target: 'node20',
    logLevel: 'warning',
  })
  const printed = execFileSync(process.execPath, [join(folder, 'polluted-child.mjs')], { encoding: 'utf8' })
  expect(JSON.parse(printed)).toEqual({
    outcomes: { core: 'handled', node: 'handled', express: 'handled', fastify: 'handled' },
    runs: [false, false, false, false, 'called'],
  })
})
