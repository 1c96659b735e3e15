import { setImmediate } from 'node:timers/promises'
import { createReceiver, memoryStore } from 'tix-webhooks'
import { ORDER_BYTES, orderBody, SECRET, sign } from './orders.js'
import { deliver } from './receivers.js'

/** What the process of its own is told, and what it tells. */
export interface HeapTask {
  readonly first: number
  readonly last: number
  readonly seconds: number
}

export interface HeapReport {
  readonly deliveries: number
  readonly bytes: number
}

/** Few enough for the records not to count beside what a delivery might leave behind. */
const MAX_KEYS = 10_000
/** How often the clock is looked at, and the order is signed anew: the tolerance is five minutes. */
const BATCH = 10_000

const { first, last, seconds } = JSON.parse(String(process.argv[2])) as HeapTask
let keys = 0
const receiver = createReceiver({
  secret: SECRET,
  on: { 'order.created': async () => {} },
  store: memoryStore({ maxKeys: MAX_KEYS, onEvict: () => {} }),
  namespace: 'bench',
  // So that one signed order is as many events as it takes: signing ten million would take longer than receiving them.
  key: () => `order-${++keys}`,
})
const body = orderBody(ORDER_BYTES[0])

const end = performance.now() + seconds * 1000
await deliverUntil(first)
process.send?.(await report())
await deliverUntil(last)
process.send?.(await report())

async function deliverUntil(count: number): Promise<void> {
  while (keys < count && (count === first || performance.now() < end)) {
    const order = await sign(body)
    for (let i = 0; i < BATCH; i++) await deliver(receiver, order, 'handled')
  }
}

/** What is alive: on the heap, and what the heap holds outside of it. */
async function report(): Promise<HeapReport> {
  // What goes in one collection can be what held something else.
  for (let i = 0; i < 3; i++) {
    await setImmediate()
    globalThis.gc?.()
  }
  const { heapUsed, external } = process.memoryUsage()
  return { deliveries: keys, bytes: heapUsed + external }
}
