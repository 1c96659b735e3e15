import { sampleEvent } from 'tix-webhooks/testing'

/** What a process of its own makes of the samples: with no seed, and with one. */
const counted = [
  sampleEvent('order.created'),
  sampleEvent('event.rescheduled'),
  sampleEvent('order.refunded', { data: {} }),
]
const seeded = [0, 7, 0xffff_ffff].map((seed) => sampleEvent('event.cancelled', { seed }))

console.log(JSON.stringify([...counted, ...seeded]))
