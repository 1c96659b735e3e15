import { randomUUID } from 'node:crypto'
import { closeSync, lstatSync, openSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { messageOf } from '../../lib/message-of.js'
import { readOwnFile } from '../../lib/own-file.js'

// Taken before any test puts a clock of its own in their place.
const { setInterval, clearInterval } = globalThis
const { now } = Date

/** How often the holder renews its lock. */
const RENEWAL_MS = 5_000
/** A lock that was not renewed for so long is free, whatever became of its holder. */
const EXPIRY_MS = 30_000
/** How exactly the start of a process is known: the wall clock may be corrected while it runs. */
const START_TOLERANCE_MS = 1_000
/** The file is smaller than this. */
const MAX_BYTES = 4096
/** How often a lock that is released or expires meanwhile is tried again. */
const TRIES = 5

const STARTED_MS = now() - process.uptime() * 1000

/** The holder, as the lock names it. */
interface Holder {
  /** The lock's own: a process may have had the file before. */
  readonly id: string
  readonly pid: number
  /** A process id means something on its own machine alone. */
  readonly host: string
  /** When the process started, in milliseconds since the epoch: a process id is given again. */
  readonly started: number
  /** The address of the sandbox, if it has one. */
  readonly url?: string | undefined
}

/** The right to write a state file. */
export interface StateLock {
  /** Gives it back. */
  release(): void
}

/**
 * Takes the lock of a state file, a file beside it: two sandboxes would undo each other's changes.
 *
 * It is free when its process has ended, and when it was not renewed for half a minute: so it can be taken over at once from a process
 * that was killed, soon from a machine or container that has gone, and another process with the same id does not keep it.
 *
 * @param url the address of the sandbox, for the message to the next one
 * @throws Error that says who has it, or why it cannot be written
 */
export function lockState(path: string, url?: string): StateLock {
  const lock = `${path}.lock`
  const mine: Holder = { id: randomUUID(), pid: process.pid, host: hostname(), started: STARTED_MS, url }
  for (let tries = 0; tries < TRIES; tries += 1) {
    if (create(lock, JSON.stringify(mine), path)) return hold(lock, mine.id)
    const there = readLock(lock, path)
    if (there === undefined) continue
    if (isHeld(there)) throw inUse(path, there.holder)
    removeExpired(lock, there, path)
  }
  throw inUse(path, undefined)
}

function hold(lock: string, id: string): StateLock {
  const isMine = (): boolean => {
    try {
      return holderIn(readOwnFile(lock, MAX_BYTES))?.id === id
    } catch {
      return false
    }
  }
  const renewal = setInterval(() => {
    try {
      const seconds = now() / 1000
      if (isMine()) utimesSync(lock, seconds, seconds)
    } catch {
      // The next renewal may succeed; the state file itself is checked before each write.
    }
  }, RENEWAL_MS)
  renewal.unref()
  return {
    release() {
      clearInterval(renewal)
      try {
        if (isMine()) rmSync(lock, { force: true })
      } catch {
        // It expires by itself.
      }
    },
  }
}

/** Makes a file that must not be there yet. @returns whether it was not */
function create(lock: string, text: string, path: string): boolean {
  let file: number
  try {
    file = openSync(lock, 'wx', 0o600)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw unlockable(path, error)
  }
  try {
    writeFileSync(file, text)
  } catch (error) {
    rmSync(lock, { force: true })
    throw unlockable(path, error)
  } finally {
    closeSync(file)
  }
  return true
}

interface Lock {
  /** Undefined while it is being written, and if its process was killed just then. */
  readonly holder: Holder | undefined
  readonly renewedMs: number
}

/** Undefined if there is none any more. */
function readLock(lock: string, path: string): Lock | undefined {
  try {
    const holder = holderIn(readOwnFile(lock, MAX_BYTES))
    const stats = lstatSync(lock, { throwIfNoEntry: false })
    return stats && { holder, renewedMs: stats.mtimeMs }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw unlockable(path, error)
  }
}

function holderIn(text: string | undefined): Holder | undefined {
  try {
    const { id, pid, host, started, url } = JSON.parse(text ?? '')
    if (typeof id !== 'string' || !Number.isSafeInteger(pid) || pid <= 0) return undefined
    return { id, pid, host: String(host), started: Number(started), ...(typeof url === 'string' && { url }) }
  } catch {
    return undefined
  }
}

function isHeld({ holder, renewedMs }: Lock): boolean {
  // A clock that was set back leaves a time that is ahead.
  if (Math.abs(now() - renewedMs) > EXPIRY_MS) return false
  if (holder?.host !== hostname()) return true
  // A container that starts again has the process id that it had before.
  if (holder.pid === process.pid) return Math.abs(holder.started - STARTED_MS) < START_TOLERANCE_MS
  return isRunning(holder.pid)
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // EPERM: the process of another user.
    return (error as NodeJS.ErrnoException).code !== 'ESRCH'
  }
}

/**
 * Removes a lock that nobody holds. Of several that find it, one at a time removes it, and only the one that was found: otherwise the
 * second would remove what the first has put in its place.
 */
function removeExpired(lock: string, { holder }: Lock, path: string): void {
  const removal = `${lock}.removal`
  if (!create(removal, '', path)) {
    const other = readLock(removal, path)
    // Its process was killed in between.
    if (other !== undefined && !isHeld(other)) rmSync(removal, { force: true })
    return
  }
  try {
    const there = readLock(lock, path)
    if (there !== undefined && there.holder?.id === holder?.id && !isHeld(there))
      rmSync(lock, { force: true })
  } finally {
    rmSync(removal, { force: true })
  }
}

function inUse(path: string, holder: Holder | undefined): Error {
  const isHere = holder?.host === hostname()
  const place = isHere ? '' : ` on ${holder?.host}`
  const who =
    holder === undefined ? '' : `${holder.url ? ` at ${holder.url}` : ''} (process ${holder.pid}${place})`
  // Whether a process of this machine lives can be seen.
  const wait = isHere ? '' : ` If that one was killed, try again in ${EXPIRY_MS / 1000} seconds.`
  return new Error(
    `The state file ${path} is in use by another sandbox${who}: stop that one first, or name another file.${wait}`,
  )
}

function unlockable(path: string, cause: unknown): Error {
  return new Error(
    `The state file ${path} could not be written: ${messageOf(cause)} (its lock is ${path}.lock)`,
    { cause },
  )
}
