import { isFake } from '../retries/fake-clock.js'

/** Taken before any test puts a clock of its own in its place. */
const { setTimeout } = globalThis

/** A request whose body is a stream, which Node must be told with a field that is not yet in the types of every platform. */
export function streamedRequest(
  url: string | URL,
  init: RequestInit,
  body: ReadableStream<Uint8Array>,
): Request {
  const streamed: RequestInit & { duplex: 'half' } = { ...init, body, duplex: 'half' }
  return new Request(url, streamed)
}

/**
 * Bytes as a stream.
 *
 * @param pauseMs between the parts; none is made where the clock was a fake one already when this was loaded
 */
export function inParts(bytes: Uint8Array, parts = 1, pauseMs = 0): ReadableStream<Uint8Array> {
  const size = Math.ceil(bytes.length / parts)
  const pauses = pauseMs > 0 && !isFake(setTimeout)
  let sent = 0
  return new ReadableStream({
    async pull(controller) {
      if (sent > 0 && pauses) await new Promise((resolve) => setTimeout(resolve, pauseMs))
      if (sent < bytes.length) controller.enqueue(bytes.subarray(sent, sent + size))
      sent += size
      if (sent >= bytes.length) controller.close()
    },
  })
}
