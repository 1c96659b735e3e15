import type { ScenarioDelivery, Transport } from '../scenarios/scenario.js'
import { inParts, streamedRequest } from './streamed-body.js'
import type { TestDelivery } from './test-delivery.js'

const PARTS = 7
const PAUSE_MS = 10

/** The same delivery, whose `toRequest` has a body that comes in parts: without a length, and where it is slow with pauses. */
export function travelling(delivery: TestDelivery, transport: Transport): ScenarioDelivery {
  const { method, headers, body } = delivery
  return {
    ...delivery,
    transport,
    toRequest(url) {
      const parts = inParts(new TextEncoder().encode(body), PARTS, transport === 'slow' ? PAUSE_MS : 0)
      return streamedRequest(delivery.toRequest(url).url, { method, headers }, parts)
    },
  }
}
