/** @module-tag slow */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { useBundle } from '../../../support/bundle.js'

const run = promisify(execFile)

/** Longer than a child takes on a busy machine, and shorter than anything that would wrongly keep it alive. */
const LIMIT_MS = 15_000

describe('a process that has nothing else to do', () => {
  const bundled = useBundle('test/support/idle-child.ts')

  /** Its output before it exits by itself. */
  async function printed(what: string): Promise<string[]> {
    const { stdout } = await run(process.execPath, [bundled(), what], {
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
