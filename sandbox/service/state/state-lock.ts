import { randomUUID } from 'node:crypto'
import {
  closeSync,
  lstatSync,
  openSync,
  readFileSync,
  readlinkSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { hostname } from 'node:os'
import { dirname } from 'node:path'
import { messageOf } from '../../lib/message-of.js'
import { readOwnFile } from '../../lib/own-file.js'

// Taken before any test puts a clock of its own in their place.
const { setInterval, clearInterval } = globalThis
const { now } = Date

/** How often the holder renews its lock. */
const RENEWAL_MS = 5_000
/** A lock that was not renewed for so long is free, unless its holder is known to run. */
const EXPIRY_MS = 30_000
/** The file is smaller than this. */
const MAX_BYTES = 4096
/** How often a lock that is released or expires meanwhile is tried again. */
const TRIES = 5

/** The holder, as the lock names it. */
interface Holder {
  /** The lock's own: a process may have had the file before. */
  readonly id: string
  readonly pid: number
  readonly host: string
  /** The PID namespace, on Linux: containers may share a host name, and each has a process 1 of its own. */
  readonly namespace?: string | undefined
  /** When the process started, if the system says so: a process id is given again. */
  readonly started?: string | undefined
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
 * Of a holder on the same host and in the same PID namespace, the process decides. On Linux its start is known too, so the lock is held
 * exactly as long as that process runs, whatever the wall clock does, and is free at once when it was killed. Elsewhere a process id that
 * is running may be that of a later process, so the lock must be renewed as well. Of any other holder, only the renewal is seen: its lock
 * is free when it was not renewed for half a minute.
 *
 * @param url the address of the sandbox, for the message to the next one
 * @throws Error that says who has it, or why it cannot be written
 */
export function lockState(path: string, url?: string): StateLock {
  const lock = `${path}.lock`
  const { pid } = process
  const mine: Holder = {
    id: randomUUID(),
    pid,
    host: hostname(),
    namespace: pidNamespace(),
    started: startOf(pid),
    url,
  }
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
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EEXIST') return false
    if (code === 'ENOENT') throw withoutFolder(path, error)
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
    const { id, pid, host, namespace, started, url } = JSON.parse(text ?? '')
    if (typeof id !== 'string' || !Number.isSafeInteger(pid) || pid <= 0) return undefined
    return { id, pid, host: String(host), namespace, started, ...(typeof url === 'string' && { url }) }
  } catch {
    return undefined
  }
}

function isHeld({ holder, renewedMs }: Lock): boolean {
  if (holder !== undefined && isHere(holder)) {
    if (!isRunning(holder.pid)) return false
    const started = startOf(holder.pid)
    if (started !== undefined && holder.started !== undefined) return started === holder.started
  }
  // A clock that was set back leaves a time that is ahead.
  return Math.abs(now() - renewedMs) <= EXPIRY_MS
}

/** Whether the id of the holder's process means the same process here. */
function isHere({ host, namespace }: Holder): boolean {
  return host === hostname() && namespace === pidNamespace()
}

/** Undefined on systems that have no such namespaces. */
function pidNamespace(): string | undefined {
  try {
    return readlinkSync('/proc/self/ns/pid')
  } catch {
    return undefined
  }
}

/**
 * When a process started, in ticks since the machine did, so that no change of the wall clock moves it. Undefined if the system does not
 * say, or not to this user.
 */
function startOf(pid: number): string | undefined {
  return statOf(pid)?.[START_FIELD]
}

/** Whether a process has ended, and its parent has not asked for its exit code yet: its id still exists. */
function isZombie(pid: number): boolean {
  return statOf(pid)?.[0] === 'Z'
}

const START_FIELD = 19

/** The fields of `/proc/PID/stat` after the name of the program, which may have blanks and brackets in it. */
function statOf(pid: number): readonly string[] | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1')
    return text.slice(text.lastIndexOf(')') + 2).split(' ')
  } catch {
    return undefined
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return !isZombie(pid)
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
  const isSeen = holder !== undefined && isHere(holder)
  const place = isSeen ? '' : ` on ${holder?.host}`
  const who =
    holder === undefined ? '' : `${holder.url ? ` at ${holder.url}` : ''} (process ${holder.pid}${place})`
  const wait = isSeen ? '' : ` If that one was killed, try again in ${EXPIRY_MS / 1000} seconds.`
  return new Error(
    `The state file ${path} is in use by another sandbox${who}: stop that one first, or name another file.${wait}`,
  )
}

function withoutFolder(path: string, cause: unknown): Error {
  return new Error(
    `The folder ${dirname(path)} of the state file does not exist: make it first, or name another file.`,
    { cause },
  )
}

function unlockable(path: string, cause: unknown): Error {
  return new Error(
    `The state file ${path} could not be written: ${messageOf(cause)} (its lock is ${path}.lock)`,
    { cause },
  )
}
