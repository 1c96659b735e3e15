/** The real timer, if the kit is loaded before a test installs fake ones. */
const { setTimeout } = globalThis

/** A request with a stream as its body. Node requires `duplex`, which is not yet in the types of every platform. */
export function streamedRequest(
  url: string | URL,
  init: RequestInit,
  body: ReadableStream<Uint8Array>,
): Request {
  const streamed: RequestInit & { duplex: 'half' } = { ...init, body, duplex: 'half' }
  return new Request(url, streamed)
}

/**
 * A stream of bytes in parts of equal size.
 *
 * @param pauseMs between the parts; no pause if timers were already fake when the kit was loaded
 */
export function inParts(bytes: Uint8Array, parts = 1, pauseMs = 0): ReadableStream<Uint8Array> {
  const size = Math.ceil(bytes.length / parts)
  const pauses = pauseMs > 0 && !isFakeTimer(setTimeout)
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

/** The UTF-8 bytes of a text; bytes as they are. */
export function bytesOf(body: string | Uint8Array): Uint8Array {
  return typeof body === 'string' ? new TextEncoder().encode(body) : body
}

/**
 * Whether `queueMicrotask` is fake, as sinon makes it by default. Node ends the body of a Request made of text or bytes by that
 * function: without it the same bytes are read endlessly, until the memory is full.
 */
export function areMicrotasksFake(): boolean {
  return isFakeTimer(globalThis.queueMicrotask)
}

/** Whether a timer function is one of sinon's, on which jest's and vitest's are built: it fires only when its clock ticks. */
export function isFakeTimer(timer: unknown): boolean {
  return typeof timer === 'function' && 'clock' in timer
}
