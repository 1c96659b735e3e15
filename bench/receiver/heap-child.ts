import { setImmediate } from 'node:timers/promises'
import { createReceiver, memoryStore } from 'tix-webhooks'
import { ORDER_BYTES, orderBody, SECRET, sign } from './orders.js'
import { deliver } from './receivers.js'

/** The task of the child process, and its report. */
export interface HeapTask {
  readonly first: number
  readonly last: number
  readonly seconds: number
}

export interface HeapReport {
  readonly deliveries: number
  readonly bytes: number
}

/** Few enough that the records are small compared with a leak. */
const MAX_KEYS = 10_000
/** How often the clock is read and the order signed again: the tolerance is five minutes. */
const BATCH = 10_000

const { first, last, seconds } = JSON.parse(String(process.argv[2])) as HeapTask
let keys = 0
const receiver = createReceiver({
  secret: SECRET,
  on: { 'order.created': async () => {} },
  store: memoryStore({ maxKeys: MAX_KEYS, onEvict: () => {} }),
  namespace: 'bench',
  // So that one signed order makes any number of events: signing ten million would take longer than receiving them.
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

/** The live memory: on the heap, and outside it but referenced from it. */
async function report(): Promise<HeapReport> {
  // An object freed in one collection may have kept another alive.
  for (let i = 0; i < 3; i++) {
    await setImmediate()
    globalThis.gc?.()
  }
  const { heapUsed, external } = process.memoryUsage()
  return { deliveries: keys, bytes: heapUsed + external }
}
