import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import { codeOf, messageOf, UsageError } from '../failure.js'
import type { Io } from '../io.js'

/** The file that `node --env-file=.env` reads too. */
export const ENV_FILE = '.env'

/** A file of a few settings is never larger. */
const MAX_BYTES = 1024 * 1024

// Windows has no such flag.
const { O_RDONLY, O_NONBLOCK = 0 } = constants

/** The content of `.env`. */
export interface EnvFile {
  readonly values: Readonly<Record<string, string | undefined>>
  /** Whether a line that is appended would become part of the last one. */
  readonly isOpenEnded: boolean
}

/**
 * Reads `.env` of the folder, as Node does.
 *
 * @returns nothing if there is no such file: a folder or a pipe of that name is none
 * @throws UsageError if there is one that cannot be read
 */
export function readEnvFile({ cwd }: Pick<Io, 'cwd'>): EnvFile | undefined {
  try {
    const text = textOf(join(cwd(), ENV_FILE))
    if (text === undefined) return undefined
    return { values: parseEnv(text.replace(/^\ufeff/, '')), isOpenEnded: text !== '' && !text.endsWith('\n') }
  } catch (cause) {
    if (['ENOENT', 'ENOTDIR', 'EISDIR', 'ENXIO'].includes(codeOf(cause) ?? '')) return undefined
    throw new UsageError(
      `${ENV_FILE} cannot be read (${messageOf(cause)}): pass the secret with --secret, or set TIX_SIGNING_SECRET.`,
      { cause },
    )
  }
}

/** Links are followed, as Node does. A pipe is not waited for, and a device not read. */
function textOf(path: string): string | undefined {
  const file = openSync(path, O_RDONLY | O_NONBLOCK)
  try {
    const stats = fstatSync(file)
    if (!stats.isFile()) return undefined
    if (stats.size > MAX_BYTES) throw new Error('it is larger than 1 MiB')
    return readFileSync(file, 'utf8')
  } finally {
    closeSync(file)
  }
}
