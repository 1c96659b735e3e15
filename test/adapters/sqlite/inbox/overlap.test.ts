import { Discard } from 'tix-webhooks'
import { expect, test } from 'vitest'
import { orderCreated } from '../../../support/deliveries.js'
import { deferred } from '../../../support/promises.js'
import { onEachDriver } from '../../../support/sqlite-drivers.js'
import { type Handler, inboxOn, insert } from '../../../support/sqlite-inbox.js'

/** A handler whose runs wait, each for its own sign, before they go on as `then` does. */
function waiting(then: Handler) {
  const signs: (() => void)[] = []
  let begun = deferred()
  const handler: Handler = async (event, tx, ctx) => {
    const sign = deferred()
    signs.push(sign.resolve)
    begun.resolve()
    await sign.promise
    return then(event, tx, ctx)
  }
  return {
    handler,
    /** Resolves when one more run waits. */
    async next(): Promise<void> {
      await begun.promise
      begun = deferred()
    },
    go: (run: number) => signs[run]?.(),
  }
}

onEachDriver('two overlapping handlers of one event', ({ open }) => {
  /** Two deliveries of one event, both of whose handlers have begun. */
  async function overlapping(then: Handler) {
    const { handler, next, go } = waiting(then)
    // Two connections, as two processes have; the order in which they go on is the test's.
    const [one, other] = [await inboxOn(open(), handler), await inboxOn(open(), handler)]
    const order = orderCreated({ id: 'ord_a' })
    const first = one.send(order)
    await next()
    const second = other.send(order)
    await next()
    return { ...one, other, first, second, go, order }
  }

  test('have one effect: the one that commits later gets a Discard, and its delivery is a duplicate', async () => {
    const thrown: unknown[] = []
    const { go, first, second, effects, reports, other } = await overlapping((event, tx) => {
      try {
        tx.commit(insert(event))
      } catch (error) {
        thrown.push(error)
        throw error
      }
    })
    go(1)
    expect(await second).toBe('200 handled')
    go(0)
    expect(await first).toBe('200 duplicate')
    expect(thrown).toEqual([expect.any(Discard)])
    expect(String(thrown[0])).toMatch(/Another delivery of the event was committed meanwhile/)
    expect(effects()).toEqual(['ord_a'])
    expect([...reports, ...other.reports]).toEqual([])
  })

  test.each([
    ['swallows the Discard', () => {}],
    [
      'throws something else in its place',
      () => {
        throw new Error('no ink')
      },
    ],
  ])('have one effect, and the delivery of one that %s is a duplicate too', async (_, instead) => {
    const { go, first, second, effects, order, send } = await overlapping((event, tx) => {
      try {
        tx.commit(insert(event))
      } catch {
        instead()
      }
    })
    go(0)
    expect(await first).toBe('200 handled')
    go(1)
    expect(await second).toBe('200 duplicate')
    expect(await send(order)).toBe('200 duplicate')
    expect(effects()).toEqual(['ord_a'])
  })

  test('have no effect of the one that tries again after the Discard', async () => {
    const { go, first, second, effects } = await overlapping((event, tx) => {
      for (let i = 0; i < 3; i++) {
        try {
          return tx.commit(insert(event))
        } catch {}
      }
    })
    go(0)
    expect(await first).toBe('200 handled')
    go(1)
    expect(await second).toBe('200 duplicate')
    expect(effects()).toEqual(['ord_a'])
  })

  test('that never commit: one is handled, and one is a duplicate', async () => {
    const { go, first, second, records } = await overlapping(() => {})
    go(1)
    expect(await second).toBe('200 handled')
    go(0)
    expect(await first).toBe('200 duplicate')
    expect(records()).toEqual(['inbox/order.created/ord_a'])
  })

  test('that discard: one is discarded, and one is a duplicate', async () => {
    const { go, first, second } = await overlapping(() => {
      throw new Discard('a test order')
    })
    go(0)
    expect(await first).toBe('200 discarded')
    go(1)
    expect(await second).toBe('200 duplicate')
  })
})
