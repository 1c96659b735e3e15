import { connect, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { sayDuration } from '../arguments/durations.js'
import { EXIT, Failure } from '../failure.js'

const PAUSE_MS = 100

/**
 * Waits until something listens where a URL points, and sends it nothing.
 *
 * @param waitMs how long, in milliseconds
 * @throws Failure with the exit code 1 when nothing does in that time
 */
export async function awaitListener(url: string, waitMs: number, signal: AbortSignal): Promise<void> {
  const { hostname, port, protocol } = new URL(url)
  const where = {
    host: hostname.replace(/^\[|\]$/g, ''),
    port: Number(port || (protocol === 'https:' ? 443 : 80)),
  }
  const end = performance.now() + waitMs
  for (;;) {
    signal.throwIfAborted()
    const rest = end - performance.now()
    if (await isListening(where, Math.max(rest, PAUSE_MS), signal)) return
    if (rest <= 0) break
    await pause(Math.min(PAUSE_MS, rest), undefined, { signal })
  }
  throw new Failure(
    EXIT.failed,
    `Nothing listens on ${where.host}:${where.port} after ${sayDuration(waitMs)}: did your receiver start, and is that its port?`,
  )
}

/** Tries to connect. The reason of a failure is ignored, because any may pass: a name may be added to DNS, or a network come up. */
function isListening(
  where: { host: string; port: number },
  waitMs: number,
  signal: AbortSignal,
): Promise<boolean> {
  return new Promise((resolve) => {
    const socket: Socket = connect(where)
    const end = (answer: boolean): void => {
      signal.removeEventListener('abort', stop)
      socket.destroy()
      resolve(answer)
    }
    const stop = (): void => end(false)
    signal.addEventListener('abort', stop)
    socket.setTimeout(waitMs, stop)
    socket.on('error', stop)
    socket.on('connect', () => end(true))
  })
}
