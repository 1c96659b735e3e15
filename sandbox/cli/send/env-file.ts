import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import { codeOf, messageOf, UsageError } from '../failure.js'
import type { Io } from '../io.js'

/** The file that `node --env-file=.env` reads too. */
export const ENV_FILE = '.env'
/** The files that are read, in this order: Next and others prefer `.env.local`. */
const ENV_FILES = ['.env.local', ENV_FILE] as const

/** A file of a few settings is never larger. */
const MAX_BYTES = 1024 * 1024

// Windows has no such flag.
const { O_RDONLY, O_NONBLOCK = 0 } = constants

/** The content of `.env` or `.env.local`. */
export interface EnvFile {
  readonly name: (typeof ENV_FILES)[number]
  readonly values: Readonly<Record<string, string | undefined>>
  /** Whether a line that is appended would become part of the last one. */
  readonly isOpenEnded: boolean
}

/**
 * Reads `.env.local` and `.env` of the folder, as Node does. A folder or a pipe of that name is no such file.
 *
 * @returns those that exist, the preferred one first
 * @throws UsageError if there is one that cannot be read
 */
export function readEnvFiles({ cwd }: Pick<Io, 'cwd'>): readonly EnvFile[] {
  return ENV_FILES.flatMap((name): EnvFile[] => {
    const bytes = bytesOf(name, cwd())
    if (bytes === undefined) return []
    // Text has no NUL, and every second byte of UTF-16 is one.
    if (bytes.includes(0)) throw utf16(name)
    const text = bytes.toString('utf8')
    const isOpenEnded = text !== '' && !text.endsWith('\n')
    const values = parseEnv(text)
    if (Object.keys(values).some((key) => key.startsWith(BYTE_ORDER_MARK))) throw marked(name)
    return [{ name, values, isOpenEnded }]
  })
}

const BYTE_ORDER_MARK = '\ufeff'

/** Node takes the mark for a part of the first name, whose value is then missing from the app. */
function marked(name: string): UsageError {
  return new UsageError(
    `${name} begins with a byte order mark, so node --env-file does not find its first variable. Save it as UTF-8 without one: in an editor, or in PowerShell 7 with (Get-Content ${name}) | Set-Content ${name}`,
  )
}

/** The encoding of `>>` in Windows PowerShell, also at the end of a file in another one. */
function utf16(name: string): UsageError {
  return new UsageError(
    `${name} is UTF-16, at least in part, so neither Node nor dotenv can read it: >> in Windows PowerShell writes UTF-16. To convert it there: (Get-Content ${name}) -replace "\\0" | Set-Content -Encoding ascii ${name}`,
  )
}

function bytesOf(name: string, folder: string): Buffer | undefined {
  try {
    return contentOf(join(folder, name))
  } catch (cause) {
    if (['ENOENT', 'ENOTDIR', 'EISDIR', 'ENXIO'].includes(codeOf(cause) ?? '')) return undefined
    throw new UsageError(
      `${name} cannot be read (${messageOf(cause)}): pass the secret with --secret, or set TIX_SIGNING_SECRET.`,
      { cause },
    )
  }
}

/** Links are followed, as Node does. A pipe is not waited for, and a device not read. */
function contentOf(path: string): Buffer | undefined {
  const file = openSync(path, O_RDONLY | O_NONBLOCK)
  try {
    const stats = fstatSync(file)
    if (!stats.isFile()) return undefined
    if (stats.size > MAX_BYTES) throw new Error('it is larger than 1 MiB')
    return readFileSync(file)
  } finally {
    closeSync(file)
  }
}
