import { lstatSync } from 'node:fs'
import { messageOf } from '../../lib/message-of.js'
import { readOwnFile, removeLeftOvers, replaceOwnFile } from '../../lib/own-file.js'
import { checkSnapshot, type Snapshot } from './snapshot.js'

/** Changes that come together are written together. */
const MIN_DELAY_MS = 250
/** A large state is written less often: its writing takes at most a tenth of the time. */
const DELAY_FACTOR = 10
/** How long after a failure the next try comes, at most: each wait is twice the one before. */
const MAX_RETRY_MS = 60_000

export interface StateFileOptions {
  /** Takes the snapshot to write. */
  readonly take: () => Snapshot
  /** Called with warnings for people. */
  readonly onWarning: (message: string) => void
}

/**
 * Reads a state file; undefined if there is none yet.
 *
 * @throws Error that names the file, and says that it was left as it is
 */
export function readStateFile(path: string): Snapshot | undefined {
  try {
    const text = readOwnFile(path)
    return text === undefined ? undefined : checkSnapshot(JSON.parse(text))
  } catch (error) {
    throw unusable(path, error)
  }
}

/** An error for a state file that cannot be used: it is left as it is. */
export function unusable(path: string, cause: unknown): Error {
  return new Error(
    `The state file ${path} cannot be used: ${messageOf(cause).replace(/\.$/, '')}. It was left as it is: name another file, or move this one away.`,
    { cause },
  )
}

/** Keeps a file as it should be: written a moment after a change, whole or not at all. */
export class StateFile {
  readonly #path: string
  readonly #options: StateFileOptions
  #timer: NodeJS.Timeout | undefined
  #stamp: string | undefined
  /** Something has changed since it was written. */
  #isDirty = false
  /** Another process writes the file, or this one has closed it: it is not written any more. */
  #isDone = false
  #delayMs = MIN_DELAY_MS
  /** How long the next try waits, while it cannot be written. */
  #retryMs: number | undefined

  constructor(path: string, options: StateFileOptions) {
    this.#path = path
    this.#options = options
    this.#stamp = stampOf(path)
  }

  /** Writes it for the first time, as it is now. @throws Error that names the file when that cannot be done */
  begin(): void {
    removeLeftOvers(this.#path)
    try {
      this.#write()
    } catch (error) {
      throw unwritable(this.#path, error)
    }
  }

  /** Something has changed. */
  touch(): void {
    this.#isDirty = true
    this.#schedule(this.#delayMs)
  }

  /** Writes what is not written yet, and nothing after it: the next sandbox may have opened it. */
  close(): void {
    clearTimeout(this.#timer)
    // The last chance, and the last word: what cannot be written now is lost.
    this.#retryMs = undefined
    if (this.#isDirty && !this.#isDone) this.#writeOrWarn()
    this.#isDone = true
    clearTimeout(this.#timer)
  }

  #schedule(ms: number): void {
    if (this.#timer !== undefined || this.#isDone) return
    this.#timer = setTimeout(() => this.#writeOrWarn(), ms)
    this.#timer.unref()
  }

  /** Warns once for all failures that follow each other. */
  #writeOrWarn(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const startMs = performance.now()
    try {
      this.#write()
      this.#retryMs = undefined
      this.#delayMs = Math.max(MIN_DELAY_MS, DELAY_FACTOR * (performance.now() - startMs))
    } catch (error) {
      if (this.#retryMs === undefined) this.#options.onWarning(unwritable(this.#path, error).message)
      this.#retryMs = Math.min(MAX_RETRY_MS, 2 * (this.#retryMs ?? this.#delayMs))
      this.#schedule(this.#retryMs)
    }
  }

  #write(): void {
    if (stampOf(this.#path) !== this.#stamp) {
      this.#isDone = true
      throw new Error(
        'it was changed by another process. Is another sandbox using it? It was left as it is, and is no longer written.',
      )
    }
    replaceOwnFile(this.#path, JSON.stringify(this.#options.take()))
    this.#stamp = stampOf(this.#path)
    this.#isDirty = false
  }
}

function unwritable(path: string, cause: unknown): Error {
  return new Error(`The state file ${path} could not be written: ${messageOf(cause)}`, { cause })
}

/** Identifies a version of a file; undefined if there is no file. */
function stampOf(path: string): string | undefined {
  const stats = lstatSync(path, { throwIfNoEntry: false, bigint: true })
  return stats && `${stats.ino} ${stats.mtimeNs} ${stats.size}`
}
