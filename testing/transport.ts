import type { ScenarioDelivery, Transport } from './scenario.js'
import type { TestDelivery } from './test-delivery.js'

const PARTS = 7
const PAUSE_MS = 10

/** The same delivery, whose `toRequest` has a body that comes in parts: without a length, and where it is slow with pauses. */
export function travelling(delivery: TestDelivery, transport: Transport): ScenarioDelivery {
  return {
    ...delivery,
    transport,
    toRequest(url) {
      // `duplex` is what a body that is a stream needs, and not yet in the types of every platform.
      const init: RequestInit & { duplex: 'half' } = {
        method: delivery.method,
        headers: delivery.headers,
        body: inParts(new TextEncoder().encode(delivery.body), transport === 'slow' ? PAUSE_MS : 0),
        duplex: 'half',
      }
      return new Request(delivery.toRequest(url).url, init)
    },
  }
}

function inParts(bytes: Uint8Array, pauseMs: number): ReadableStream<Uint8Array> {
  const size = Math.ceil(bytes.length / PARTS)
  let sent = 0
  return new ReadableStream({
    async pull(controller) {
      if (sent > 0 && pauseMs > 0) await new Promise((resolve) => setTimeout(resolve, pauseMs))
      if (sent < bytes.length) controller.enqueue(bytes.subarray(sent, sent + size))
      sent += size
      if (sent >= bytes.length) controller.close()
    },
  })
}
