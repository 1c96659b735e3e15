import { setTimeout } from 'node:timers/promises'
import { streamSSE } from 'hono/streaming'
import type { App } from '../context.js'
import { readParameters } from './input.js'
import type { ControlParts } from './parts.js'
import { stateJson, stateQuery } from './state.js'

/** The pause between two states: at most 20 are sent a second. */
const PAUSE_MS = 50
const PING_MS = 15_000

/** Adds `/stream`: the state on connect, and whenever it has changed. It takes the query of `/state`. */
export function addStream(app: App, parts: ControlParts): void {
  app.get('/_sandbox/stream', (c) => {
    // A HEAD request also gets here: its stream would never be read or closed.
    if (c.req.method === 'HEAD') return c.body(null, 200, { 'content-type': 'text/event-stream' })
    const query = readParameters(c, stateQuery)
    return streamSSE(c, async (stream) => {
      let isStale = true
      let wake = (): void => {}
      const change = (): void => {
        isStale = true
        wake()
      }
      const stops = [parts.service.subscribe(change), parts.log.subscribe(change)]
      const ping = setInterval(() => void stream.write(': ping\n\n'), PING_MS).unref()
      stream.onAbort(() => wake())
      try {
        while (!stream.aborted) {
          if (isStale) {
            isStale = false
            const startedMs = performance.now()
            await stream.writeSSE({ event: 'state', data: JSON.stringify(stateJson(parts, query)) })
            // A large state or a slow reader gets fewer updates, to leave time for other work.
            const pauseMs = Math.max(PAUSE_MS, 4 * (performance.now() - startedMs))
            await setTimeout(pauseMs, undefined, { ref: false })
          } else {
            await new Promise<void>((resolve) => {
              wake = resolve
            })
          }
        }
      } finally {
        clearInterval(ping)
        for (const stop of stops) stop()
      }
    })
  })
}
