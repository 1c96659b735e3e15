import { randomBytes } from 'node:crypto'
import {
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  lstatSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  type Stats,
  writeFileSync,
} from 'node:fs'

// Windows has neither of the two.
const { O_RDONLY, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants

/**
 * The text of a file of our own. One that a cloned repository could have put there as something else is refused: a link, whose
 * target would be read in its place, or a pipe, which would never end.
 *
 * @param maxBytes default: as much as there is
 * @returns nothing where there is none
 * @throws Error that says what it is instead
 */
export function readOwnFile(path: string, maxBytes = Number.POSITIVE_INFINITY): string | undefined {
  const there = lstatSync(path, { throwIfNoEntry: false })
  if (there === undefined) return undefined
  checkFile(there)
  // What took its place meanwhile is not followed either, and not waited for.
  const file = openSync(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
  try {
    const stats = fstatSync(file)
    checkFile(stats)
    if (stats.size > maxBytes) throw new Error(`it has more than ${maxBytes} bytes`)
    return readFileSync(file, 'utf8')
  } finally {
    closeSync(file)
  }
}

/**
 * Writes a file of our own, whole or not at all, that only this user can read. It takes the place of the one before, and is never
 * written through a link.
 *
 * @throws Error that says what is there instead of a file, or why it cannot be written
 */
export function replaceOwnFile(path: string, text: string): void {
  const there = lstatSync(path, { throwIfNoEntry: false })
  if (there !== undefined) checkFile(there)
  // Beside it, so that the renaming stays on one file system; by a name that nobody can have taken.
  const temporary = `${path}.${randomBytes(8).toString('hex')}.tmp`
  try {
    const file = openSync(temporary, 'wx', 0o600)
    try {
      writeFileSync(file, text)
      fsyncSync(file)
    } finally {
      closeSync(file)
    }
    renameSync(temporary, path)
  } catch (error) {
    rmSync(temporary, { force: true })
    throw error
  }
}

/** @throws Error that says what it is instead of a file */
function checkFile(stats: Stats): void {
  if (stats.isFile()) return
  const what = stats.isSymbolicLink()
    ? 'a symbolic link'
    : stats.isDirectory()
      ? 'a folder'
      : 'a pipe or a device'
  throw new Error(`it is ${what}, not a file`)
}
