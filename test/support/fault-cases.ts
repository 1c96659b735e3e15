import type { Outcome } from 'tix-webhooks'
import { expect } from 'vitest'
import type { Stage } from './fault-stage.js'
import { newOrder, type Order } from './running-apps.js'

export type FaultCase = readonly [name: string, play: (stage: Stage) => Promise<void>]

/** The event was handled once, and the receiver knows it. */
async function expectHandledOnce(stage: Stage, order: Order): Promise<void> {
  await stage.untilDone(order)
  expect(await stage.effects(order)).toBe(1)
  expect(await stage.send(order)).toEqual({ outcome: 'duplicate' })
}

const UNAVAILABLE = { outcome: 'unavailable', code: 'store_unavailable', retryAfterSeconds: 5 }

/** What every receiver survives, whether it has a store or an inbox. */
const COMMON_FAULTS: readonly FaultCase[] = [
  [
    'a server that is down: nothing runs, and all is well when it is back',
    async (stage) => {
      const order = await newOrder()
      await stage.proxy.refuse()
      const ends = await Promise.all([order, order, order].map(stage.send))
      for (const end of ends) expect(end).toMatchObject(UNAVAILABLE)
      expect(stage.calls(order)).toBe(0)
      await stage.proxy.pass()
      await expectHandledOnce(stage, order)
      expect(stage.calls(order)).toBe(1)
    },
  ],
  [
    'a server that accepts everything and answers nothing: the sender is answered all the same',
    async (stage) => {
      const orders = [await newOrder(), await newOrder(), await newOrder()]
      stage.proxy.blackHole()
      const ends = await Promise.all(orders.map(stage.send))
      for (const end of ends) expect(end).toMatchObject(UNAVAILABLE)
      await stage.proxy.pass()
      for (const order of orders) {
        await expectHandledOnce(stage, order)
        expect(stage.calls(order)).toBe(1)
      }
    },
  ],
  [
    'a lost reply to the claim: it runs once, now or when the sender comes again',
    async (stage) => {
      const order = await newOrder()
      stage.loseReply(order, 1)
      const first = await stage.send(order)
      expect(['handled', 'unavailable']).toContain(first.outcome)
      await expectHandledOnce(stage, order)
      expect(stage.calls(order)).toBe(1)
    },
  ],
  [
    'a server that is slow: it takes as long as it takes',
    async (stage) => {
      const order = await newOrder()
      stage.proxy.hold()
      const asked = stage.proxy.nextRequest()
      const sent = stage.send(order)
      await asked
      stage.proxy.flush()
      expect(await sent).toEqual({ outcome: 'handled' })
      await expectHandledOnce(stage, order)
    },
  ],
  [
    'a claim that is granted when the sender has long been told to come again: it holds up nobody',
    async (stage) => {
      const order = await newOrder()
      stage.proxy.hold()
      expect(await stage.send(order)).toMatchObject(UNAVAILABLE)
      stage.proxy.flush()
      await expectHandledOnce(stage, order)
      expect(stage.calls(order)).toBe(1)
    },
  ],
  [
    'connections that are cut while the handler runs',
    async (stage) => {
      const order = await newOrder()
      stage.beforeEffect(async () => stage.proxy.cut())
      const first = await stage.send(order)
      expect(['handled', 'failed', 'unavailable']).toContain(first.outcome)
      stage.beforeEffect(async () => {})
      await expectHandledOnce(stage, order)
    },
  ],
  [
    'connections that are cut again and again while events come',
    async (stage) => {
      const orders = await Promise.all(Array.from({ length: 20 }, newOrder))
      let cuts = 0
      stage.beforeEffect(async () => {
        if (cuts++ < 10) stage.proxy.cut()
      })
      const isAnswered = ({ outcome }: Outcome): boolean => /handled|duplicate|in-flight/.test(outcome)
      await Promise.all(orders.map((order) => stage.until(order, isAnswered)))
      for (const order of orders) {
        // Where the reply to a claim was lost, and its release too, the lease has to run out.
        await stage.place.expireLease(order)
        await expectHandledOnce(stage, order)
      }
    },
  ],
]

/** What a receiver with a store survives. */
export const STORE_FAULTS: readonly FaultCase[] = [
  ...COMMON_FAULTS,
  [
    'a lost reply to the completion: it is recorded all the same',
    async (stage) => {
      const order = await newOrder()
      stage.loseReply(order, 2)
      expect(await stage.send(order)).toEqual({ outcome: 'handled' })
      expect(await stage.send(order)).toEqual({ outcome: 'duplicate' })
      expect(stage.calls(order)).toBe(1)
      expect(stage.reports).toEqual([])
    },
  ],
  [
    'a lost reply to the release of an event whose handler failed: it runs when the sender comes again',
    async (stage) => {
      const order = await newOrder()
      stage.loseReply(order, 2)
      stage.beforeEffect(async () => {
        throw new Error('not today')
      })
      expect(await stage.send(order)).toMatchObject({ outcome: 'failed' })
      stage.beforeEffect(async () => {})
      expect(await stage.send(order)).toEqual({ outcome: 'handled' })
      await expectHandledOnce(stage, order)
      expect(stage.calls(order)).toBe(2)
    },
  ],
  [
    'a completion that does not arrive: the sender is told in time that it is done, and it is recorded when the server is back',
    async (stage) => {
      const order = await newOrder()
      stage.afterEffect(async () => stage.proxy.blackHole())
      expect(await stage.send(order)).toEqual({ outcome: 'handled' })
      await stage.proxy.pass()
      stage.afterEffect(async () => {})

      // The lease is far longer: only a completion ends it.
      await stage.until(order, ({ outcome }) => outcome === 'duplicate')
      expect(stage.calls(order)).toBe(1)
      expect(await stage.effects(order)).toBe(1)
      await stage.drain()
      expect(stage.reports).not.toContain('not_recorded')
    },
  ],
]

/** What a receiver with an inbox survives. */
export const INBOX_FAULTS: readonly FaultCase[] = [
  ...COMMON_FAULTS,
  [
    'a lost reply to COMMIT: the sender is not told that it is done, and finds out when it comes again',
    async (stage) => {
      const order = await newOrder()
      stage.afterEffect(async () => {
        void stage.proxy.cutAfterRequest(commitRequest())
      })
      expect(await stage.send(order)).toMatchObject(UNAVAILABLE)
      stage.afterEffect(async () => {})
      expect(await stage.untilDone(order)).toEqual({ outcome: 'duplicate' })
      expect(await stage.effects(order)).toBe(1)
      expect(stage.calls(order)).toBe(1)
    },
  ],
  [
    'a COMMIT that never arrives: the sender is told in time to come again, and all is rolled back',
    async (stage) => {
      const order = await newOrder()
      stage.afterEffect(async () => stage.proxy.blackHole())
      expect(await stage.send(order)).toMatchObject(UNAVAILABLE)
      stage.afterEffect(async () => {})
      await stage.proxy.pass()
      expect(await stage.untilDone(order)).toEqual({ outcome: 'handled' })
      await expectHandledOnce(stage, order)
      expect(stage.calls(order)).toBe(2)
    },
  ],
  [
    'a COMMIT that takes longer than the sender waits',
    async (stage) => {
      const order = await newOrder()
      stage.afterEffect(async () => stage.proxy.hold())
      expect(await stage.send(order)).toMatchObject(UNAVAILABLE)
      stage.afterEffect(async () => {})
      stage.proxy.flush()
      expect(await stage.untilDone(order)).toEqual({ outcome: 'duplicate' })
      expect(await stage.effects(order)).toBe(1)
    },
  ],
]

/** Matches COMMIT: pg sends it behind the inbox's check in one message, postgres.js in the next one, and by a name. */
function commitRequest(): (chunk: Buffer) => boolean {
  let isChecked = false
  return (chunk) => {
    const rest = chunk.toString('latin1').split(/txid_current_if_assigned.*?::integer\0?/s)[1]
    if (isChecked || rest) return true
    isChecked = rest === ''
    return false
  }
}
