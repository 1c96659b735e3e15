import { rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { readOwnFile, replaceOwnFile } from '../../internal.js'
import { option } from '../arguments/options.js'
import { readUrl } from '../arguments/values.js'
import type { Io } from '../io.js'

/** The port of a sandbox without `--port`. */
export const DEFAULT_PORT = 4010
/** The environment variable that says where the sandbox is. */
export const SANDBOX_VARIABLE = 'TIX_SANDBOX_URL'

/** The value instead of a URL that makes commands use no sandbox, even if one runs. */
const NONE = 'none'

const readPlace = (text: string, name: string): string => (text === NONE ? NONE : readUrl(text, name))

/** The option of commands that talk to a running sandbox. */
export const SANDBOX_OPTIONS = {
  sandbox: option(
    'URL',
    readPlace,
    `URL of the sandbox, or none (default: $${SANDBOX_VARIABLE}, else the one of this folder or above, else port ${DEFAULT_PORT})`,
  ),
}

/** Written to the folder of a sandbox that is not on the default port; holds its URL. */
export const SANDBOX_FILE = '.tix-webhooks-sandbox.json'

/** The file contains only a URL: a larger one is not ours. */
const MAX_FILE_BYTES = 4096

/** A place where a sandbox may be. */
export interface Candidate {
  readonly url: string
  /** The source of the URL, for messages. */
  readonly source: string
  /** Whether the user named it: then it is the only one. */
  readonly isUserNamed?: true
  /** Whether it is from a file, which a crash may have left behind. */
  readonly isFromFile?: true
}

/** The places to look for a sandbox, the most certain first. If the user names one, it is the only one. */
export function candidates(flag: string | undefined, io: Io): readonly Candidate[] {
  const variable = io.env[SANDBOX_VARIABLE] || undefined
  const named = flag ?? (variable && readPlace(variable, SANDBOX_VARIABLE))
  if (named === NONE) return []
  if (named !== undefined) {
    return [{ url: named, source: flag === undefined ? SANDBOX_VARIABLE : '--sandbox', isUserNamed: true }]
  }
  return [...written(io.cwd()), { url: `http://127.0.0.1:${DEFAULT_PORT}`, source: 'the default port' }]
}

/** The sandboxes named by files of this folder and of those above it, the nearest first. */
function written(cwd: string): readonly Candidate[] {
  const found: Candidate[] = []
  for (let folder = cwd, above = dirname(cwd); ; folder = above, above = dirname(above)) {
    const url = writtenUrl(folder)
    const source = folder === cwd ? SANDBOX_FILE : join(folder, SANDBOX_FILE)
    if (url !== undefined) found.push({ url, source, isFromFile: true })
    if (folder === above) return found
  }
}

/** Reads the URL of the sandbox from the file of a folder; ignores other machines, because the file may come from a cloned repository. */
export function writtenUrl(folder: string): string | undefined {
  try {
    const { url } = JSON.parse(writtenText(folder) ?? 'null')
    return typeof url === 'string' && isOnThisMachine(url) ? url : undefined
  } catch {
    return undefined
  }
}

/** The text of the file; undefined if there is none, or it is not a regular file. */
function writtenText(folder: string): string | undefined {
  try {
    return readOwnFile(join(folder, SANDBOX_FILE), MAX_FILE_BYTES)
  } catch {
    return undefined
  }
}

function isOnThisMachine(url: string): boolean {
  if (!URL.canParse(url)) return false
  const { protocol, hostname } = new URL(url)
  // An IPv6 address stands in brackets there.
  return protocol === 'http:' && isLoopback(hostname.replace(/^\[(.+)\]$/, '$1'))
}

/**
 * Writes down where the sandbox of this folder is, for the commands that look for it.
 *
 * @returns a function that takes the file away, unless another sandbox has written it since
 * @throws Error if something else than a file is there, which a repository could contain, or it cannot be written
 */
export function announce(url: string, io: Io): () => Promise<void> {
  const folder = io.cwd()
  const path = join(folder, SANDBOX_FILE)
  const text = `${JSON.stringify({ url })}\n`
  replaceOwnFile(path, text)
  return async () => {
    if (writtenText(folder) === text) await rm(path, { force: true })
  }
}

/** Whether a host is this machine alone. */
export function isLoopback(host: string): boolean {
  return /^(localhost|127(\.\d+){3}|::1)$/.test(host)
}
