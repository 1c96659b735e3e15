/** @module-tag slow */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { build } from 'esbuild'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ROOT } from '../../../support/root.js'
import { makeFolder, removeFolder } from '../../../support/server-process.js'

const run = promisify(execFile)

/** Longer than a child takes on a busy machine, and shorter than anything that would wrongly keep it alive. */
const LIMIT_MS = 15_000

describe('a process that has nothing else to do', () => {
  let folder = ''

  beforeAll(async () => {
    folder = await makeFolder()
    await build({
      entryPoints: [join(ROOT, 'test/support/idle-child.ts')],
      outfile: join(folder, 'child.mjs'),
      tsconfig: join(ROOT, 'tsconfig.json'),
      bundle: true,
      platform: 'node',
      format: 'esm',
      target: 'node20',
      logLevel: 'warning',
    })
  })
  afterAll(() => removeFolder(folder))

  /** Its output before it exits by itself. */
  async function printed(what: string): Promise<string[]> {
    const { stdout } = await run(process.execPath, [join(folder, 'child.mjs'), what], {
      timeout: LIMIT_MS,
      killSignal: 'SIGKILL',
    })
    return stdout.split('\n').filter((line) => line !== '')
  }

  test.concurrent.each([
    ['a body', 'incomplete'],
    ['a secret function', 'timed_out'],
    ['a claim', 'unavailable'],
    ['a transaction', 'unavailable'],
    ['a handler', 'timed_out'],
    ['a handler whose lease is renewed', 'timed_out'],
    ['a handler whose lease is lost', 'timed_out'],
    ['a completion that is tried again', 'handled'],
  ])(
    'is held by a delivery that waits for %s until that is answered, and no longer',
    async (what, outcome) => {
      expect(await printed(what)).toEqual([outcome])
    },
  )

  test.concurrent('is held by a drain until that is over', async () => {
    expect(await printed('a drain')).toEqual(['timed_out', 'drained'])
  })
})
