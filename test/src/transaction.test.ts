import { AsyncLocalStorage } from 'node:async_hooks'
import { type Inbox, type Outcome, RunError, StoreError } from 'tix-webhooks'
import { describe, expect, test } from 'vitest'
import { Deadline } from '../../src/lib/deadline.js'
import { HANDLED, outcomeOfThrown } from '../../src/receiver/outcome.js'
import { openTransaction } from '../../src/receiver/transaction.js'
import { BOOM, DISCARDED, FAILED, LATER, opened, REQUEST } from '../support/opened-transaction.js'
import { deferred, never, watch } from '../support/promises.js'
import {
  failingWith,
  hangingAfterWork,
  type OnceScript,
  saying,
  scriptedInbox,
} from '../support/scripted-inbox.js'
import { advance, useVirtualTime } from '../support/virtual-time.js'

useVirtualTime()

const HUNG_UP = new Error('connection terminated')

describe('settling a transaction', () => {
  const MISBEHAVED = { outcome: 'unavailable', code: 'store_misbehaved', retryAfterSeconds: 5 }
  const UNAVAILABLE = { outcome: 'unavailable', code: 'store_unavailable', retryAfterSeconds: 5 }
  const DUPLICATE = { outcome: 'duplicate' }
  const IN_FLIGHT = { outcome: 'in-flight', code: 'in_flight', retryAfterSeconds: 5 }

  const ENDS: readonly [ended: Outcome, inbox: string, once: OnceScript, told: object][] = [
    [HANDLED, 'says handled', saying('handled'), HANDLED],
    [HANDLED, 'says duplicate, as SQLite does at its commit', saying('duplicate'), DUPLICATE],
    [HANDLED, 'says in-flight', saying('in-flight'), IN_FLIGHT],
    [HANDLED, 'says discarded', saying('discarded'), MISBEHAVED],
    [HANDLED, 'says nothing', saying(undefined), MISBEHAVED],
    [HANDLED, 'says true', saying(true), MISBEHAVED],
    [HANDLED, 'fails at the commit', failingWith(HUNG_UP), { ...UNAVAILABLE, error: { cause: HUNG_UP } }],
    [DISCARDED, 'says discarded', saying('discarded'), DISCARDED],
    [DISCARDED, 'says duplicate', saying('duplicate'), DUPLICATE],
    [DISCARDED, 'says in-flight, as it may after the roll-back', saying('in-flight'), IN_FLIGHT],
    [DISCARDED, 'says handled', saying('handled'), MISBEHAVED],
    [DISCARDED, 'knows nothing of Discard', (_, work) => work({}), UNAVAILABLE],
    [DISCARDED, 'fails to record it', failingWith(HUNG_UP), { ...UNAVAILABLE, error: { cause: HUNG_UP } }],
    [FAILED, 'rolls back', (_, work) => work({}), FAILED],
    [FAILED, 'fails to roll back', failingWith(HUNG_UP), FAILED],
    [FAILED, 'says duplicate', saying('duplicate'), DUPLICATE],
    [FAILED, 'says handled all the same', saying('handled'), MISBEHAVED],
    [FAILED, 'says discarded', saying('discarded'), MISBEHAVED],
    [LATER, 'rolls back', (_, work) => work({}), LATER],
    [LATER, 'fails to roll back', failingWith(HUNG_UP), LATER],
    [LATER, 'says handled all the same', saying('handled'), MISBEHAVED],
  ]

  test.each(ENDS.map(([ended, inbox, once, told]) => [ended.outcome, inbox, { ended, once, told }] as const))(
    'after %s, where the inbox %s, tells what is true',
    async (_, __, { ended, once, told }) => {
      const { run } = await opened(once)
      expect(await run.settle(ended)).toMatchObject(told)
    },
  )

  test('commits after handled, and rolls back with the very error otherwise', async () => {
    for (const ended of [HANDLED, DISCARDED, FAILED, LATER]) {
      const { run, ends } = await opened((_, work) => work({}))
      await run.settle(ended)
      expect(ends).toHaveLength(1)
      if (ended === HANDLED) expect(ends[0]).toBe('resolved')
      else expect((ends[0] as { rejected: unknown }).rejected).toBe(ended.error)
    }
  })

  test('tells that the inbox is unavailable where its own error is what ended the handler', async () => {
    const lost = new StoreError('store_unavailable', 'The connection was lost inside ctx.tx.')
    const { run } = await opened((_, work) => work({}))
    expect(await run.settle(outcomeOfThrown(lost, 'order.created'))).toEqual({
      outcome: 'unavailable',
      code: 'store_unavailable',
      retryAfterSeconds: 5,
      error: lost,
    })
  })

  test('never believes a "handled" that came before the work was over', async () => {
    const { run } = await opened(async (_, work) => {
      void work({}).catch(() => {})
      return 'handled'
    })
    await advance(1)
    expect(await run.settle(HANDLED)).toMatchObject({ outcome: 'unavailable', code: 'store_misbehaved' })
  })

  test.each([
    ['handled', HANDLED, { outcome: 'unavailable', code: 'store_unavailable' }],
    ['failed', FAILED, FAILED],
  ] as const)('waits 30 s for an inbox that hangs after %s, no longer', async (_, ended, told) => {
    const { run } = await opened(hangingAfterWork)
    const settling = run.settle(ended)
    const settled = watch(settling)
    await advance(29.9)
    expect(settled.isResolved).toBe(false)
    await advance(0.1)
    expect(await settling).toMatchObject(told)
  })

  test('an inbox that fails after that is nobody’s unhandled rejection', async () => {
    const { run } = await opened(async (_, work) => {
      await work({})
      await new Promise((resolve) => setTimeout(resolve, 60_000))
      throw HUNG_UP
    })
    const settling = run.settle(HANDLED)
    await advance(60)
    expect(await settling).toMatchObject({ code: 'store_unavailable' })
  })
})

describe('a transaction whose run is given up', () => {
  const GIVEN_UP = new RunError('given_up', 'too long')

  test('has its work rejected at once, and is believed nothing more', async () => {
    const { run, ends } = await opened((_, work) => work({}))
    void run.call(() => never())
    await advance(1)
    run.letGo(GIVEN_UP)
    await advance(0)
    expect(ends).toEqual([{ rejected: GIVEN_UP }])
    expect(await run.settle(HANDLED)).toMatchObject({ outcome: 'timed-out', error: GIVEN_UP })
    expect(await run.settle(FAILED)).toBe(FAILED)
  })
})

describe('a transaction that ends while its handler runs', () => {
  test('is told once, with what the inbox said', async () => {
    const lost: unknown[] = []
    const deadline = new Deadline(10_000)
    const hangsUp = deferred()
    const { inbox } = scriptedInbox(async (_, work) => {
      await Promise.race([work({}), hangsUp.promise])
      throw HUNG_UP
    })
    const run = await openTransaction(inbox, REQUEST, deadline, (reason) => lost.push(reason))
    if (typeof run === 'string') throw new Error(run)
    void run.call(() => never())
    await advance(1)
    expect(lost).toEqual([])
    hangsUp.resolve()
    await advance(0)
    expect(lost).toEqual([expect.objectContaining({ code: 'store_unavailable', cause: HUNG_UP })])
    expect(await run.settle(HANDLED)).toMatchObject({ code: 'store_unavailable' })
    expect(lost).toHaveLength(1)
    deadline.clear()
  })

  test.each([HANDLED, FAILED])('after $outcome is none that was lost', async (ended) => {
    const lost: unknown[] = []
    const deadline = new Deadline(10_000)
    const { inbox } = scriptedInbox(failingWith(HUNG_UP))
    const run = await openTransaction(inbox, REQUEST, deadline, (reason) => lost.push(reason))
    if (typeof run === 'string') throw new Error(run)
    await run.settle(ended)
    expect(lost).toEqual([])
    deadline.clear()
  })
})

describe('the hint of an inbox', () => {
  test.each<[what: string, hint: unknown, told: string]>([
    ['a sentence', () => 'The pool is full.', 'The pool is full.'],
    ['nothing', () => undefined, ''],
    [
      'an error',
      () => {
        throw HUNG_UP
      },
      '',
    ],
    ['none at all', undefined, ''],
  ])('that gives %s', async (_, hint, told) => {
    const deadline = new Deadline(10_000)
    const { inbox } = scriptedInbox((__, work) => work({}))
    const run = await openTransaction(Object.assign(inbox, { hint }) as Inbox<unknown>, REQUEST, deadline)
    if (typeof run === 'string') throw new Error(run)
    expect(run.hint?.()).toBe(told)
    await run.settle(FAILED)
    deadline.clear()
  })
})

describe('meanwhile', () => {
  test.each([HANDLED, DISCARDED])('after $outcome nothing is confirmed', async (ended) => {
    const { run } = await opened(saying(ended.outcome))
    expect(run.meanwhile(ended)).toMatchObject({
      outcome: 'unavailable',
      code: 'store_unavailable',
      retryAfterSeconds: 5,
      error: { message: expect.stringMatching(/not confirmed the commit in time/) },
    })
    await run.settle(ended)
  })

  test.each([FAILED, LATER])('after $outcome that is what the sender is told', async (ended) => {
    const { run } = await opened((_, work) => work({}))
    expect(run.meanwhile(ended)).toBe(ended)
    await run.settle(ended)
  })
})

describe('the handler', () => {
  test('is called in the asynchronous context in which the inbox calls its work', async () => {
    const context = new AsyncLocalStorage<string>()
    const { run } = await opened((_, work) =>
      context.run('of the transaction', async () => {
        await work({})
        return 'handled'
      }),
    )
    const seen = context.run('of the caller', () =>
      run.call(async () => {
        const before = context.getStore()
        await null
        return [before, context.getStore()]
      }),
    )
    expect(await seen).toEqual(['of the transaction', 'of the transaction'])
    await run.settle(HANDLED)
  })

  test('gives what it returns, and what it throws, be it thrown at once', async () => {
    const given = await opened(saying('handled'))
    expect(await given.run.call(() => 'value')).toBe('value')
    await given.run.settle(HANDLED)

    const thrown = await opened((_, work) => work({}))
    const call = thrown.run.call(() => {
      throw BOOM
    })
    await expect(call).rejects.toBe(BOOM)
    await thrown.run.settle(FAILED)
  })

  test('is never called where the run is settled without it', async () => {
    const { run, ends } = await opened((_, work) => work({}))
    const late = new Error('too late')
    await run.settle({ outcome: 'timed-out', code: 'timed_out', error: late })
    expect(ends).toEqual([{ rejected: late }])
  })
})
