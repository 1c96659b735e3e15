import { sampleEvent } from 'tix-webhooks/testing'

/** The samples of a new process: without a seed, and with one. */
const counted = [
  sampleEvent('order.created'),
  sampleEvent('event.rescheduled'),
  sampleEvent('order.refunded', { data: {} }),
]
const seeded = [0, 7, 0xffff_ffff].map((seed) => sampleEvent('event.cancelled', { seed }))

console.log(JSON.stringify({ counted, seeded }))
