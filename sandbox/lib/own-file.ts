import { randomBytes } from 'node:crypto'
import {
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  type Stats,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { messageOf } from './message-of.js'

// Windows has neither of the two.
const { O_RDONLY, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants

/** The random part of the name of a temporary file, which is written first and then renamed to the file. */
const RANDOM_BYTES = 8
const TEMPORARY_END = /^[0-9a-f]{16}\.tmp$/

/**
 * The text of a file of our own. One that a cloned repository could have put there as something else is refused: a link, whose
 * target would be read in its place, or a pipe, which would never end.
 *
 * @param maxBytes default: as much as there is
 * @returns undefined if there is none
 * @throws Error that says what it is instead
 */
export function readOwnFile(path: string, maxBytes = Number.POSITIVE_INFINITY): string | undefined {
  const there = lstatSync(path, { throwIfNoEntry: false })
  if (there === undefined) return undefined
  checkFile(there)
  // A link or a pipe that took its place meanwhile is not followed, and not waited for.
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
  const temporary = `${path}.${randomBytes(RANDOM_BYTES).toString('hex')}.tmp`
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
    throw withOwnName(error, temporary, path)
  }
}

/** The error with the name of the file that the user knows, and not the temporary one. */
function withOwnName(error: unknown, temporary: string, path: string): Error {
  // The message of a renaming has both: rename 'TEMPORARY' -> 'FILE'.
  return new Error(messageOf(error).replace(`'${temporary}' -> `, '').replaceAll(temporary, path))
}

/** Removes what a process left beside the file that was killed while it wrote it. What cannot be removed stays. */
export function removeLeftOvers(path: string): void {
  const folder = dirname(path)
  const start = `${basename(path)}.`
  try {
    for (const name of readdirSync(folder)) {
      if (!name.startsWith(start) || !TEMPORARY_END.test(name.slice(start.length))) continue
      const leftOver = join(folder, name)
      if (lstatSync(leftOver, { throwIfNoEntry: false })?.isFile()) rmSync(leftOver, { force: true })
    }
  } catch {
    // The sandbox starts anyway: if the folder is not writable, the next write reports it.
  }
}

/** @throws Error that names its type, if it is no regular file */
function checkFile(stats: Stats): void {
  if (stats.isFile()) return
  const what = stats.isSymbolicLink()
    ? 'a symbolic link'
    : stats.isDirectory()
      ? 'a folder'
      : 'a pipe or a device'
  throw new Error(`it is ${what}, not a file`)
}
