import { describe, expect, test } from 'vitest'
import { orderCreated, sign } from '../../support/deliveries.js'
import { ALL_WELL, honestInbox } from '../../support/honest-inbox.js'
import { deferred, watch } from '../../support/promises.js'
import { SOON } from '../../support/retry-after.js'
import { hangingAfterWork, receivingWith, scriptedInbox } from '../../support/scripted-inbox.js'
import { advance, sleep, useVirtualTime } from '../../support/virtual-time.js'

useVirtualTime()

const UNAVAILABLE = { outcome: 'unavailable', code: 'store_unavailable', retryAfterSeconds: SOON }

describe('a commit that takes its time', () => {
  test('is waited for until the deadline: then it is unavailable, not 200, and goes on', async () => {
    const { inbox, effects } = honestInbox({ fates: [{ ...ALL_WELL, commitTakes: 15 }] })
    const { receiver, send, records, reports } = receivingWith(inbox, {
      on: { 'order.created': (_, { tx }) => tx.write('tickets') },
    })
    const kept: Promise<unknown>[] = []
    const waitUntil = (promise: Promise<unknown>) => kept.push(promise)
    const order = orderCreated()
    const outcome = receiver.receive({ ...(await sign(order)), request: null, waitUntil })
    await advance(9.9)
    expect(records).toEqual([])
    await advance(0.1)
    expect(await outcome).toMatchObject({
      ...UNAVAILABLE,
      error: { message: expect.stringMatching(/not confirmed the commit/) },
    })
    // The first is the delivery itself.
    expect(kept).toHaveLength(2)
    expect(records).toMatchObject([{ outcome: 'unavailable', status: 503, code: 'store_unavailable' }])

    await advance(5)
    expect(await kept[1]).toEqual({ outcome: 'handled' })
    expect(effects).toEqual(['tickets'])
    expect(await send(order)).toEqual({ outcome: 'duplicate' })
    expect(reports).toHaveLength(1)
  })

  test('and never ends holds a drain for 30 s from the handler’s return, no longer', async () => {
    const { inbox } = scriptedInbox(hangingAfterWork)
    const { send, receiver, reports } = receivingWith(inbox, { on: { 'order.created': () => sleep(2) } })
    const outcome = send(orderCreated())
    await advance(10)
    expect(await outcome).toMatchObject(UNAVAILABLE)
    const drain = receiver.drain()
    const drained = watch(drain)
    await advance(21.9)
    expect(drained.isResolved).toBe(false)
    await advance(0.1)
    await drain
    for (const { error } of reports) expect(error.code).toBe('store_unavailable')
  })
})

describe('drain', () => {
  test('waits for a running transaction and its commit', async () => {
    const work = deferred()
    const { inbox, effects } = honestInbox({ fates: [{ ...ALL_WELL, commitTakes: 2 }] })
    const { send, receiver } = receivingWith(inbox, {
      on: {
        'order.created': async (_, { tx }) => {
          await work.promise
          tx.write('tickets')
        },
      },
    })
    const first = send(orderCreated())
    await advance(1)
    const drain = receiver.drain()
    const drained = watch(drain)
    await advance(1)
    work.resolve()
    await advance(1.9)
    expect(drained.isResolved).toBe(false)
    await advance(0.1)
    await drain
    expect(await first).toEqual({ outcome: 'handled' })
    expect(effects).toEqual(['tickets'])
  })
})
