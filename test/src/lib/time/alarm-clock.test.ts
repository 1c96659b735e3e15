import type { Delivery, WebhookOptions } from 'tix-webhooks'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { AlarmClock, within } from '../../../../src/lib/time/alarm-clock.js'
import { orderCreated } from '../../../support/deliveries.js'
import { ALL_TRIES, begin, refused, type Script, scriptedStore } from '../../../support/delivering.js'
import { deferred, never, throws, watch } from '../../../support/promises.js'
import { receiving } from '../../../support/receiving.js'
import { receivingWith, scriptedInbox } from '../../../support/scripted-inbox.js'
import { jump } from '../../../support/time-jumps.js'
import { advance, sleep, useVirtualTime } from '../../../support/virtual-time.js'

useVirtualTime()

afterEach(() => {
  vi.unstubAllGlobals()
  vi.restoreAllMocks()
})

describe('a delivery on a runtime', () => {
  const atOnce = ['with setImmediate', () => {}] as const
  const without = ['without setImmediate', () => vi.stubGlobal('setImmediate', undefined)] as const
  const refusing = [
    'whose setImmediate only throws',
    () => {
      vi.stubGlobal('setImmediate', throws(new Error('not supported here')))
    },
  ] as const
  const numbers = [
    'whose timers are plain numbers',
    () => {
      vi.stubGlobal('setImmediate', undefined)
      const { setTimeout } = globalThis
      vi.stubGlobal('setTimeout', (callback: () => void, ms: number) => Number(setTimeout(callback, ms)))
    },
  ] as const

  describe.each([atOnce, without, refusing, numbers])('%s', (_, prepare) => {
    beforeEach(prepare)

    test('leaves no timer behind', async () => {
      for (const handler of [() => {}, async () => {}, () => sleep(1)]) {
        const { answer } = await begin({}, { on: { 'order.created': handler } })
        await advance(1)
        expect(await answer).toEqual({ outcome: 'handled' })
        expect(vi.getTimerCount()).toBe(0)
      }
    })

    test('is answered at its deadline, and its lease renewed until its run is given up', async () => {
      const { answered, called, codes } = await begin({}, { timeoutSeconds: 10, maxRunSeconds: 50 })
      await advance(9.999)
      expect(answered()).toBeUndefined()
      await advance(0.001)
      expect(answered()).toMatchObject({ code: 'timed_out' })
      await advance(39.999)
      expect(called()).toEqual(['claim', 'renew', 'renew'])
      await advance(0.001)
      expect(codes()).toEqual(['timed_out', 'given_up'])
      expect(vi.getTimerCount()).toBe(0)
    })
  })
})

describe('a process that has nothing else to do', () => {
  /** Whether a timer holds it. */
  function watchTimers(): () => boolean {
    const { setTimeout, clearTimeout } = globalThis
    const live = new Set<NodeJS.Timeout>()
    vi.stubGlobal('setTimeout', (callback: () => void, ms?: number) => {
      const timer = setTimeout(() => {
        live.delete(timer)
        callback()
      }, ms)
      live.add(timer)
      return timer
    })
    vi.stubGlobal('clearTimeout', (timer: NodeJS.Timeout) => {
      live.delete(timer)
      clearTimeout(timer)
    })
    return () => [...live].some((timer) => timer.hasRef())
  }

  const withStore = (script: Script) => ({ store: scriptedStore(script).store, namespace: 'test' })
  const hanging = { on: { 'order.created': () => never() }, maxRunSeconds: 30 }

  test.each<[string, string, Partial<WebhookOptions>, Partial<Delivery>?]>([
    ['a body', 'incomplete', {}, { body: () => never() }],
    ['a secret function', 'timed_out', { secret: () => never() }],
    ['a claim', 'unavailable', withStore({ claim: never })],
    ['a transaction', 'unavailable', { inbox: scriptedInbox(never).inbox as never, namespace: 'test' }],
    ['a handler', 'timed_out', hanging],
    ['a handler whose lease is renewed', 'timed_out', { ...hanging, ...withStore({}), leaseSeconds: 0.1 }],
    [
      'a handler whose lease is lost',
      'timed_out',
      { ...hanging, ...withStore({ renew: refused }), leaseSeconds: 0.1 },
    ],
    ['a completion that is tried again', 'handled', withStore({ complete: refused })],
  ])(
    'is held by a delivery that waits for %s until that is answered, and no longer',
    async (_, outcome, options, delivery) => {
      const isHeld = watchTimers()
      const { send } = receiving({ on: { 'order.created': () => {} }, timeoutSeconds: 1.5, ...options })
      const seen = vi.fn()
      void send(orderCreated(), delivery).then(seen)
      await advance(0)
      while (seen.mock.calls.length === 0) {
        expect(isHeld()).toBe(true)
        await advance(0.01)
      }
      expect(seen).toHaveBeenCalledExactlyOnceWith(expect.objectContaining({ outcome }))
      // A claim that hangs is waited for a little longer: it may have to be released.
      await advance(2)
      for (let second = 0; second < ALL_TRIES; second++) {
        expect(isHeld()).toBe(false)
        await advance(1)
      }
    },
  )

  test('is held by a drain until that is over', async () => {
    const isHeld = watchTimers()
    const { receiver, send } = receiving({ ...hanging, timeoutSeconds: 1, maxRunSeconds: 2 })
    void send(orderCreated())
    await advance(1)
    expect(isHeld()).toBe(false)
    const drained = watch(receiver.drain())
    await advance(0.999)
    expect([drained.isResolved, isHeld()]).toEqual([false, true])
    await advance(0.001)
    expect([drained.isResolved, isHeld()]).toEqual([true, false])
  })
})

test('a delivery that has all it needs at once sets no timer', async () => {
  const set = vi.spyOn(globalThis, 'setTimeout')
  for (const handler of [() => {}, async () => {}]) {
    const { send } = receiving({ on: { 'order.created': handler } })
    expect(await send(orderCreated())).toEqual({ outcome: 'handled' })
  }
  expect(set).not.toHaveBeenCalled()
})

test('a fake clock that moves the timers alone brings the deadline, each renewal and the end of the run', async () => {
  vi.useRealTimers()
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setImmediate', 'clearImmediate'] })
  const options = { timeoutSeconds: 10, maxRunSeconds: 50 }
  const { answered, called, codes, work } = await begin({}, options)
  await advance(10.1)
  expect(answered()).toMatchObject({ code: 'timed_out' })
  await advance(41)
  expect(called()).toEqual(['claim', 'renew', 'renew'])
  expect(codes()).toEqual(['timed_out', 'given_up'])
  work.resolve(undefined)
})

test('a delivery that waits at each of its steps sets one timer', async () => {
  const set = vi.spyOn(globalThis, 'setTimeout')
  const claim = () => sleep(0.1).then(() => ({ status: 'claimed', attempt: 1 }))
  const complete = () => sleep(0.1).then(() => true)
  const { answer } = await begin({ claim, complete }, { on: { 'order.created': () => sleep(0.1) } })
  await advance(0.3)
  expect(await answer).toEqual({ outcome: 'handled' })
  const [STEPS, OURS] = [3, 1]
  expect(set).toHaveBeenCalledTimes(STEPS + OURS)
})

test('an alarm that throws neither ends the process nor silences the alarms after it', () => {
  const clock = new AlarmClock()
  const rung: string[] = []
  clock.set(throws(new Error('broken')), clock.nowMs + 1_000)
  clock.set(() => rung.push('the same time'), clock.nowMs + 1_000)
  clock.set(() => rung.push('later'), clock.nowMs + 2_000)
  vi.advanceTimersByTime(2_000)
  expect(rung).toEqual(['the same time', 'later'])
})

describe('work that is waited for', () => {
  const late = () => 'late'

  test.each([0, 0.5, 2_000, 2_147_483_000])('for %d ms is late after them, and not before', async (ms) => {
    const settled = vi.fn()
    void within<string>(never(), ms, late).then(settled)
    await advance(Math.max(0, ms - 1) / 1000)
    if (ms > 1) expect(settled).not.toHaveBeenCalled()
    await advance(0.002)
    expect(settled.mock.calls).toEqual([['late']])
    expect(vi.getTimerCount()).toBe(0)
  })

  test('gives its result, or its error, and leaves no timer behind', async () => {
    expect(await within(Promise.resolve('done'), 50, late)).toBe('done')
    await expect(within(Promise.reject(new Error('down')), 50, late)).rejects.toThrow('down')
    expect(vi.getTimerCount()).toBe(0)
  })

  // Past some 24.8 days a timer fires at once.
  test.each([
    [-1, '-1'],
    [2_147_483_001, '2147483001'],
    [Number.POSITIVE_INFINITY, 'Infinity'],
    [Number.NaN, 'NaN'],
    ['50', '"50"'],
    [undefined, 'undefined'],
  ])('cannot be waited for %j ms, and its own rejection is not left unhandled', async (ms, shown) => {
    const unhandled = vi.fn()
    process.on('unhandledRejection', unhandled)
    await expect(within(Promise.reject(new Error('unheard')), ms as number, late)).rejects.toThrow(
      new TypeError(`ms must be a number of milliseconds from 0 to 2147483000, not ${shown}.`),
    )
    await advance(1)
    process.off('unhandledRejection', unhandled)
    expect(unhandled).not.toHaveBeenCalled()
  })
})

describe('where the event loop is blocked', () => {
  test('by the handler, past the deadline, the delivery is answered at once, and no timer is set to below 0', async () => {
    const set = vi.spyOn(globalThis, 'setTimeout')
    const handler = () => {
      jump(100)
      return never()
    }
    const options = { timeoutSeconds: 10, maxRunSeconds: 300, leaseSeconds: 60 }
    const { answered, codes } = await begin({}, { ...options, on: { 'order.created': handler } })
    await advance(0.001)
    expect(answered()).toMatchObject({ code: 'timed_out' })
    expect(set.mock.calls.map(([, ms]) => ms).filter((ms = 0) => !(ms >= 0))).toEqual([])
    set.mockRestore()
    expect(codes()).toEqual(['timed_out'])
    await advance(200)
    expect(codes()).toEqual(['timed_out', 'given_up'])
  })

  test.each([
    ['the deadline comes first', { timeoutSeconds: 10, maxRunSeconds: 20 }, ['timed_out', 'given_up']],
    [
      'the deadline comes first, of two at one time',
      { timeoutSeconds: 10, maxRunSeconds: 10 },
      ['timed_out', 'given_up'],
    ],
    [
      'the end of the run comes first, and is the end',
      { timeoutSeconds: 20, maxRunSeconds: 10 },
      ['given_up'],
    ],
  ])('past both limits of a delivery, %s', async (_, limits, expected) => {
    const handler = () => {
      const { promise } = deferred()
      setTimeout(() => jump(100), 1)
      return promise
    }
    const { answered, codes, receiver } = await begin({}, { ...limits, on: { 'order.created': handler } })
    await advance(0.001)
    await advance(20)
    expect(answered()).toMatchObject({ code: expected[0] })
    expect(codes().sort()).toEqual([...expected].sort())
    await receiver.drain()
  })

  test('for less than half a millisecond, no alarm is early by a whole one', async () => {
    const handler = () => {
      jump(0.000_4)
      return never()
    }
    const { answered } = await begin(
      {},
      { timeoutSeconds: 10, maxRunSeconds: 20, on: { 'order.created': handler } },
    )
    await advance(9.999)
    expect(answered()).toBeUndefined()
    await advance(0.001)
    expect(answered()).toMatchObject({ code: 'timed_out' })
    await advance(11)
  })
})

test('a timer that fires a moment before the clock says so is believed: no handler is started any more', async () => {
  const handler = vi.fn()
  const { inbox, ends } = scriptedInbox(async (_, work) => {
    // Set after the timer of the deadline, for the same time.
    await sleep(0.001)
    await sleep(9.999)
    return work({})
  })
  const { send } = receivingWith(inbox, { on: { 'order.created': handler } })
  const outcome = send(orderCreated())
  await advance(0)
  // Timers count whole milliseconds, and the clock fractions of them.
  jump(-0.0003)
  await advance(10)
  expect(await outcome).toMatchObject({ outcome: 'unavailable', code: 'store_unavailable' })
  expect(handler).not.toHaveBeenCalled()
  expect(ends).toEqual([{ rejected: expect.objectContaining({ code: 'store_unavailable' }) }])
})
