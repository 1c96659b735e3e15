import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { candidates, SANDBOX_FILE } from '../../../cli/client/find-sandbox.js'
import type { Io } from '../../../cli/io.js'
import { cliRefusalOf, emptyFolder } from '../../support/cli.js'

const DEFAULT = { url: 'http://127.0.0.1:4010', source: 'the default port' }

/** In a folder with this in the file of a sandbox. */
function around({ file, env = {} }: { file?: string; env?: Record<string, string> } = {}): Io {
  const folder = emptyFolder()
  if (file !== undefined) writeFileSync(join(folder, SANDBOX_FILE), file)
  return {
    stdout: { write: () => {} },
    stderr: { write: () => {} },
    stdin: async () => new Uint8Array(),
    env,
    cwd: () => folder,
    signal: new AbortController().signal,
  }
}

describe('a sandbox is looked for', () => {
  test('where the flag says, and nowhere else', async () => {
    const io = around({
      file: '{"url":"http://127.0.0.1:1"}',
      env: { TIX_SANDBOX_URL: 'http://127.0.0.1:2' },
    })
    expect(await candidates('http://127.0.0.1:3', io)).toEqual([
      { url: 'http://127.0.0.1:3', source: '--sandbox', isUserNamed: true },
    ])
  })

  test('else where the environment says, and nowhere else', async () => {
    const io = around({
      file: '{"url":"http://127.0.0.1:1"}',
      env: { TIX_SANDBOX_URL: 'http://127.0.0.1:2' },
    })
    expect(await candidates(undefined, io)).toEqual([
      { url: 'http://127.0.0.1:2', source: 'TIX_SANDBOX_URL', isUserNamed: true },
    ])
  })

  test.each(['--sandbox', 'TIX_SANDBOX_URL'])('nowhere, where %s says none', async (place) => {
    const io = around({ env: place === 'TIX_SANDBOX_URL' ? { TIX_SANDBOX_URL: 'none' } : {} })
    expect(await candidates(place === '--sandbox' ? 'none' : undefined, io)).toEqual([])
  })

  test('else where the file of the folder says, then at the default port', async () => {
    const io = around({ file: '{"url":"http://127.0.0.1:1"}', env: { TIX_SANDBOX_URL: '' } })
    expect(await candidates(undefined, io)).toEqual([
      { url: 'http://127.0.0.1:1', source: SANDBOX_FILE, isFromFile: true },
      DEFAULT,
    ])
  })

  test.each([
    ['is not there', undefined],
    ['is no JSON', '{"url"'],
    ['is another JSON', '[]'],
    ['is null', 'null'],
    ['names no text', '{"url":5}'],
    ['names no URL', '{"url":"x"}'],
    ['names another machine', '{"url":"http://example.com"}'],
    ['names a machine that is called like this one', '{"url":"http://127.0.0.1.example.com"}'],
    ['names no machine', '{"url":"file://localhost/x"}'],
    ['names another protocol', '{"url":"https://127.0.0.1:1"}'],
  ])('only at the default port where the file %s', async (_case, file) => {
    expect(await candidates(undefined, around(file === undefined ? {} : { file }))).toEqual([DEFAULT])
  })

  test('not at all if the environment variable is invalid', async () => {
    const io = around({ env: { TIX_SANDBOX_URL: '127.0.0.1:4010' } })
    expect(await cliRefusalOf(() => candidates(undefined, io))).toEqual({
      exitCode: 2,
      message:
        'TIX_SANDBOX_URL "127.0.0.1:4010" is not an http or https URL. Did you mean http://127.0.0.1:4010?',
    })
  })
})
