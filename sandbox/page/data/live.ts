import { get } from './api.js'
import { takeSlot } from './slots.js'
import type { State } from './views.js'

/** `paused`: the tab is hidden, and asks for nothing. */
export type Connection = 'connecting' | 'live' | 'reconnecting' | 'paused'

export interface LiveListener {
  onState(state: State): void
  onConnection(connection: Connection): void
}

const RETRY_MS = 1000
/** How often a tab without a stream asks. */
const POLL_MS = 1000

/**
 * Follows the state of the sandbox while the tab can be seen: by a stream, or by a request each second if other tabs have all
 * streams there are. What broke off is tried again until it works.
 *
 * @param query of `/_sandbox/state`
 * @returns a function that ends it
 */
export function follow(query: string, { onState, onConnection }: LiveListener): () => void {
  let leave = begin()

  function begin(): () => void {
    if (document.visibilityState === 'hidden') {
      onConnection('paused')
      return () => {}
    }
    let source: EventSource | undefined
    let timer: ReturnType<typeof setTimeout> | undefined
    let release: (() => void) | undefined
    const gone = new AbortController()

    const again = (): void => {
      onConnection('reconnecting')
      timer = setTimeout(connect, RETRY_MS)
    }
    const stream = (): void => {
      source = new EventSource(`/_sandbox/stream?${query}`)
      source.addEventListener('state', (event) => {
        onConnection('live')
        onState(JSON.parse(event.data))
      })
      source.onerror = () => {
        source?.close()
        again()
      }
    }
    const poll = async (): Promise<void> => {
      try {
        onState(await get<State>(`/state?${query}`, gone.signal))
        onConnection('live')
        timer = setTimeout(connect, POLL_MS)
      } catch {
        if (!gone.signal.aborted) again()
      }
    }
    const connect = async (): Promise<void> => {
      release ??= await takeSlot()
      if (gone.signal.aborted) return release?.()
      if (release === undefined) await poll()
      else stream()
    }
    void connect()

    return () => {
      gone.abort()
      clearTimeout(timer)
      source?.close()
      release?.()
    }
  }

  const change = (): void => {
    leave()
    leave = begin()
  }
  document.addEventListener('visibilitychange', change)
  return () => {
    document.removeEventListener('visibilitychange', change)
    leave()
  }
}
