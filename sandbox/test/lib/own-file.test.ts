import fs, { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { replaceOwnFile } from '../../lib/own-file.js'

/** A file in a folder of its own. */
function newPath(): string {
  const folder = mkdtempSync(join(tmpdir(), 'own-file-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return join(folder, 'state.json')
}

/** Does something else just before the file is written. */
function beforeWriting(act: () => void): void {
  const { writeFileSync } = fs
  const set = (write: typeof writeFileSync): void => {
    fs.writeFileSync = write
    syncBuiltinESMExports()
  }
  onTestFinished(() => set(writeFileSync))
  set((...args) => {
    act()
    writeFileSync(...args)
  })
}

test.each<[string, (path: string) => void, string]>([
  [
    'opened',
    (path) => rmSync(join(path, '..'), { recursive: true }),
    'ENOENT: no such file or directory, open',
  ],
  [
    'renamed',
    (path) => beforeWriting(() => mkdirSync(path)),
    'EISDIR: illegal operation on a directory, rename',
  ],
])('the error of a file that cannot be %s names the file', (_, spoil, reason) => {
  const path = newPath()
  spoil(path)
  expect(() => replaceOwnFile(path, '{}')).toThrow(new Error(`${reason} '${path}'`))
})

test('nothing is left beside a file that cannot be written', () => {
  const path = newPath()
  beforeWriting(() => {
    throw new Error('ENOSPC: no space left on device, write')
  })
  expect(() => replaceOwnFile(path, '{}')).toThrow('ENOSPC')
  expect(readdirSync(join(path, '..'))).toEqual([])
})
