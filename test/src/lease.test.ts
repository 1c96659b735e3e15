import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { ENDING, hold, LEASE, LEASE_MS, THIRD_MS, toTheEnd, unreachable } from '../support/held-lease.js'
import { never } from '../support/promises.js'

beforeEach(() => {
  vi.useFakeTimers()
})

afterEach(() => {
  vi.useRealTimers()
})

/** The clocks go on, and nothing else does. */
function stopFor(ms: number): void {
  const start = performance.now()
  vi.spyOn(performance, 'now').mockImplementation(() => start + ms)
}

describe('a lease that is held', () => {
  test('is renewed every third of its time, with its own key and token', async () => {
    const { calls, losses, reports } = hold()
    await vi.advanceTimersByTimeAsync(THIRD_MS - 1)
    expect(calls).toEqual([])
    await vi.advanceTimersByTimeAsync(1)
    expect(calls).toEqual([['renew', LEASE, LEASE_MS]])
    await vi.advanceTimersByTimeAsync(THIRD_MS * 4)
    expect(calls).toHaveLength(5)
    expect([...losses, ...reports]).toEqual([])
  })

  test('is not renewed again while a renewal is under way', async () => {
    const { called, held } = hold({ renew: () => new Promise((resolve) => setTimeout(resolve, 1_999, true)) })
    await vi.advanceTimersByTimeAsync(THIRD_MS + 1_999 + THIRD_MS - 1)
    expect(called()).toEqual(['renew'])
    await vi.advanceTimersByTimeAsync(1)
    expect(called()).toEqual(['renew', 'renew'])
    held.letGo()
  })

  test('is let go without a call: nothing is renewed any more, and no timer is left', async () => {
    const { held, calls } = hold()
    held.letGo()
    expect(vi.getTimerCount()).toBe(0)
    await vi.advanceTimersByTimeAsync(LEASE_MS * 3)
    expect(calls).toEqual([])
  })

  test('is not renewed again when it is let go while a renewal is under way', async () => {
    const { held, called } = hold({ renew: () => new Promise((resolve) => setTimeout(resolve, 100, true)) })
    await vi.advanceTimersByTimeAsync(THIRD_MS)
    held.letGo()
    await vi.advanceTimersByTimeAsync(LEASE_MS * 3)
    expect(called()).toEqual(['renew'])
    expect(vi.getTimerCount()).toBe(0)
  })

  test('can still be completed when it was let go before', async () => {
    const { held, called, reports } = hold()
    held.letGo()
    await toTheEnd(held.settle(ENDING.complete))
    expect(called()).toEqual(['complete'])
    expect(reports).toEqual([])
  })

  test('does not keep the process alive by its timer', async () => {
    vi.useRealTimers()
    const timer = setTimeout(() => {}, 1)
    clearTimeout(timer)
    const unref = vi.spyOn(Object.getPrototypeOf(timer), 'unref')
    const { held } = hold()
    // It is set at the end of this turn.
    await new Promise((resolve) => setImmediate(resolve))
    expect(unref).toHaveBeenCalledTimes(1)
    held.letGo()
    unref.mockRestore()
  })
})

describe('a lease that is lost', () => {
  test('with its record is told at once, and not renewed any more', async () => {
    const { losses, reports, called } = hold({ renew: async () => false })
    await vi.advanceTimersByTimeAsync(LEASE_MS * 5)
    expect(called()).toEqual(['renew'])
    expect(losses).toEqual([expect.objectContaining({ code: 'lease_lost' })])
    expect(losses[0]?.message).toMatch(
      /ord_1 .*the store lost its record before.*evicted.*restarted empty, failed over/,
    )
    expect(reports).toEqual(losses)
    expect(vi.getTimerCount()).toBe(0)
  })

  test.each([
    ['rejects', unreachable],
    [
      'throws at once',
      () => {
        throw new Error('not connected')
      },
    ],
    ['gives what is no boolean', async () => 'OK'],
    ['gives nothing', () => undefined],
  ])('no renewal that %s loses a lease before it has run out', async (_, renew) => {
    const { losses, reports, called, held } = hold({ renew })
    await vi.advanceTimersByTimeAsync(LEASE_MS - 1)
    expect(called()).toEqual(['renew', 'renew'])
    expect(losses).toEqual([])
    expect(reports).toHaveLength(2)
    expect(reports[0]).toMatchObject({
      code: expect.stringMatching(/^store_(unavailable|misbehaved)$/),
      message: expect.stringMatching(/store's renew/),
    })

    await vi.advanceTimersByTimeAsync(1)
    expect(losses[0]).toMatchObject({
      code: 'lease_lost',
      message: expect.stringMatching(/it ran out while/),
    })
    held.letGo()
  })

  test('that was renewed after a renewal had failed is not lost when it would have run out', async () => {
    const replies = [unreachable, async () => true, async () => true, async () => true]
    const { losses, codes, held } = hold({ renew: () => (replies.shift() ?? unreachable)() })
    await vi.advanceTimersByTimeAsync(LEASE_MS + 1)
    expect(losses).toEqual([])
    expect(codes()).toEqual(['store_unavailable'])
    held.letGo()
    expect(vi.getTimerCount()).toBe(0)
  })

  test('counts a renewed lease from when the renewal was sent, not from its reply', async () => {
    // Sent at 1 s, answered at 2.5 s; the next fails at 3.9 s. The lease runs out at 1 s + 3 s, not at 2.5 s + 3 s.
    const replies = [
      () => new Promise((resolve) => setTimeout(resolve, 1_500, true)),
      () => new Promise((_, reject) => setTimeout(reject, 400, new Error('reset'))),
    ]
    const { losses, held } = hold({ renew: () => (replies.shift() ?? unreachable)() }, { leaseMs: 3_000 })
    await vi.advanceTimersByTimeAsync(3_999)
    expect(losses).toEqual([])
    await vi.advanceTimersByTimeAsync(1)
    expect(losses).toHaveLength(1)
    held.letGo()
  })

  test('counts the first lease from when the claim was sent', async () => {
    const { losses, held } = hold({ renew: unreachable }, { leaseMs: 3_000, claimedMsAgo: 1_500 })
    await vi.advanceTimersByTimeAsync(1_499)
    expect(losses).toEqual([])
    await vi.advanceTimersByTimeAsync(1)
    expect(losses).toHaveLength(1)
    held.letGo()
  })

  test('a renewal that hangs is given up after 2 s, reported, and tried again a third later', async () => {
    const { codes, called, held } = hold({ renew: never })
    await vi.advanceTimersByTimeAsync(THIRD_MS + 1_999)
    expect(codes()).toEqual([])
    await vi.advanceTimersByTimeAsync(1)
    expect(codes()).toEqual(['store_unavailable'])
    await vi.advanceTimersByTimeAsync(THIRD_MS)
    expect(called()).toEqual(['renew', 'renew'])
    held.letGo()
  })

  test('is told when a renewal that hangs as it runs out is given up', async () => {
    // Renewals from 3 s to 5 s, and from 8 s to 10 s.
    const { losses, held } = hold({ renew: never }, { leaseMs: 9_000 })
    await vi.advanceTimersByTimeAsync(9_999)
    expect(losses).toEqual([])
    await vi.advanceTimersByTimeAsync(1)
    expect(losses).toEqual([expect.objectContaining({ code: 'lease_lost' })])
    held.letGo()
  })

  test.each([
    ['nobody took it over: it is ours again', true, []],
    ['it was taken over: that is told', false, [/ran out before it was renewed.*another delivery has taken/]],
  ])(
    'a process that was stopped for longer than the lease asks the store, and %s',
    async (_, answer, told) => {
      const { losses, reports, called, held } = hold({ renew: async () => answer })
      // Every timer is late, as after SIGSTOP.
      stopFor(LEASE_MS * 2)
      await vi.advanceTimersByTimeAsync(1)
      expect(called()).toEqual(['renew'])
      expect(losses.map(({ message }) => message)).toEqual(told.map((words) => expect.stringMatching(words)))
      expect(reports).toEqual(losses)
      held.letGo()
    },
  )

  test('a renewal that was under way while the process was stopped decides nothing: it is sent again', async () => {
    const replies = [never, async () => true]
    const { losses, reports, called, held } = hold({ renew: () => (replies.shift() ?? unreachable)() })
    await vi.advanceTimersByTimeAsync(THIRD_MS)
    stopFor(LEASE_MS * 2)
    // The limit of the call, which is long over.
    await vi.advanceTimersByTimeAsync(2_000)
    expect(called()).toEqual(['renew', 'renew'])
    expect([...losses, ...reports]).toEqual([])
    held.letGo()
  })

  test('the clock of the machine has no say in it', async () => {
    const { losses, held } = hold({ renew: unreachable })
    vi.setSystemTime(Date.now() + 86_400_000)
    await vi.advanceTimersByTimeAsync(THIRD_MS * 2)
    expect(losses).toEqual([])
    held.letGo()
  })

  test('is told once, however long the store stays away', async () => {
    const { losses, codes, held } = hold({ renew: unreachable })
    await vi.advanceTimersByTimeAsync(LEASE_MS * 5)
    held.letGo()
    expect(losses).toHaveLength(1)
    expect(codes().filter((code) => code === 'lease_lost')).toHaveLength(1)
  })

  test('is told once, also where the store comes back and says who has it now', async () => {
    const replies = [unreachable, unreachable, unreachable]
    const { losses, called } = hold({ renew: () => (replies.shift() ?? (async () => false))() })
    await vi.advanceTimersByTimeAsync(LEASE_MS * 2)
    expect(called()).toHaveLength(4)
    expect(losses).toHaveLength(1)
    expect(vi.getTimerCount()).toBe(0)
  })

  test('is waited for by no process: of a renewal only the call to the store is', async () => {
    const { held } = hold({ renew: never })
    await vi.advanceTimersByTimeAsync(THIRD_MS - 1)
    const set = vi.spyOn(globalThis, 'setTimeout')
    await vi.advanceTimersByTimeAsync(2)
    const timers = set.mock.results.map(({ value }) => value as NodeJS.Timeout)
    set.mockRestore()
    expect(timers.map((timer) => timer.hasRef()).sort()).toEqual([true])
    held.letGo()
  })
})
