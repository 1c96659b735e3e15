import { afterEach, describe, expect, test, vi } from 'vitest'
import { begin, refused } from '../../support/delivering.js'
import { never } from '../../support/promises.js'
import { jump } from '../../support/time-jumps.js'
import { advance, sleep, useVirtualTime } from '../../support/virtual-time.js'

useVirtualTime()

afterEach(() => {
  vi.restoreAllMocks()
})

type Begun = Awaited<ReturnType<typeof begin>>

const renewals = ({ called }: Begun): number => called().filter((name) => name === 'renew').length

/** Lets the handler return, and the run end. */
async function end({ work, answer }: Begun): Promise<void> {
  work.resolve(undefined)
  await advance(3)
  expect(await answer).toEqual({ outcome: 'handled' })
}

/** A store whose renewals return these replies in order, and then always the last one. */
function renewing(...replies: (() => unknown)[]) {
  return { renew: () => (replies.length > 1 ? replies.shift() : replies[0])?.() }
}

const granted = async () => true

describe('a lease', () => {
  test('is renewed every third of its time while the handler runs, with its own key and token', async () => {
    const held = await begin()
    await advance(19.999)
    expect(held.called()).toEqual(['claim'])
    await advance(0.001)
    expect(held.calls.slice(1)).toEqual([['renew', held.lease(), 60_000]])
    await advance(80)
    expect(renewals(held)).toBe(5)
    await end(held)
    expect(held.lost()).toBeUndefined()
    expect(held.codes()).toEqual([])
    await advance(60)
    expect(held.called().slice(-2)).toEqual(['renew', 'complete'])
  })

  test('counts from when the claim was sent, and so does its first renewal', async () => {
    const claim = () => sleep(1.5).then(() => ({ status: 'claimed', attempt: 1 }))
    const slow = await begin({ claim }, { leaseSeconds: 6 })
    await advance(1.999)
    expect(renewals(slow)).toBe(0)
    await advance(0.001)
    expect(renewals(slow)).toBe(1)
    await end(slow)

    const lost = await begin({ claim, renew: refused }, { leaseSeconds: 3 })
    await advance(2.999)
    expect(lost.lost()).toBeUndefined()
    await advance(0.001)
    expect(lost.lost()).toMatchObject({ code: 'lease_lost' })
    await end(lost)
  })

  test('that was renewed counts from when the renewal was sent, not from its reply', async () => {
    // Sent at 1 s, answered at 2.5 s; the next one fails at 3.9 s. The lease expires at 1 s + 3 s, not at 2.5 s + 3 s.
    const first = () => sleep(1.5).then(granted)
    const second = () => sleep(0.4).then(refused)
    const held = await begin(renewing(first, second, refused), { leaseSeconds: 3 })
    await advance(3.999)
    expect(held.lost()).toBeUndefined()
    await advance(0.001)
    expect(held.lost()).toMatchObject({ code: 'lease_lost' })
    await end(held)
  })

  test.each([
    ['rejects', refused, 'store_unavailable'],
    ['returns anything but a boolean', async () => 'OK', 'store_misbehaved'],
  ])('is not lost before it has run out, though each renewal %s', async (_, renew, code) => {
    const held = await begin({ renew })
    await advance(59.999)
    expect(renewals(held)).toBe(2)
    expect(held.lost()).toBeUndefined()
    expect(held.codes()).toEqual([code, code])
    expect(held.reports[0]?.error.message).toMatch(/store's renew/)
    expect(held.reports[0]?.ctx).toMatchObject({ kind: 'order.created', key: held.lease().key })
    await advance(0.001)
    expect(held.lost()?.message).toMatch(/it ran out while the store could not be reached/)
    await end(held)
  })
})

describe('a lease that is lost', () => {
  test('with its record aborts the signal at once, is reported, and is not renewed any more', async () => {
    const held = await begin({ renew: async () => false })
    await advance(300)
    expect(renewals(held)).toBe(1)
    expect(held.lost()).toMatchObject({ code: 'lease_lost' })
    expect(held.lost()?.message).toMatch(
      /order\.created\/ord_1 .*the store lost its record before.*evicted.*restarted empty, failed over/,
    )
    expect(held.reports.map(({ error }) => error)).toEqual([held.lost()])
    // Its run is recorded all the same: no other delivery may run.
    await end(held)
    expect(held.called().at(-1)).toBe('complete')
  })

  test('when a renewal that hangs is given up 50 ms late, which is no sign of a process that was stopped', async () => {
    const held = await begin({ renew: never }, { leaseSeconds: 3 })
    await advance(1.5)
    jump(0.05)
    await advance(1.5)
    expect(held.codes()).toEqual(['store_unavailable', 'lease_lost'])
    await end(held)
  })
})

describe('a process that was stopped for longer than its lease', () => {
  test.each([
    ['it is ours again, if nobody took it over', granted, []],
    ['it is lost, if another delivery took it over', async () => false, ['lease_lost']],
  ])('asks the store: %s', async (_, renew, codes) => {
    const held = await begin({ renew })
    await advance(10)
    // Every timer is late, as after SIGSTOP.
    jump(120)
    await advance(10)
    expect(renewals(held)).toBe(1)
    expect(held.codes()).toEqual(codes)
    if (codes.length > 0) {
      expect(held.lost()?.message).toMatch(/ran out before it was renewed.*another delivery has taken/)
    }
    expect(held.contexts[0]?.signal.aborted).toBe(codes.length > 0)
    await end(held)
  })

  const stoppedAgain = () => {
    jump(120)
    return never()
  }

  test('does not ask at once if the lease has not run out meanwhile', async () => {
    const held = await begin({ renew: never })
    await advance(20)
    jump(10)
    await advance(2.001)
    expect(renewals(held)).toBe(1)
    expect(held.codes()).toEqual(['store_unavailable'])
    await end(held)
  })

  test.each([
    ['is ours again, if it is granted', granted, []],
    ['is lost, if it is not', async () => false, ['lease_lost']],
    ['is lost, if the store cannot be reached', refused, ['lease_lost', 'store_unavailable']],
    ['is lost, if the process is stopped again meanwhile', stoppedAgain, ['lease_lost', 'store_unavailable']],
  ])('sends a renewal again that was under way: the lease %s', async (_, again, codes) => {
    const held = await begin(renewing(never, again))
    await advance(20)
    jump(120)
    // Past the limit of the call.
    await advance(4.01)
    expect(renewals(held)).toBe(2)
    expect(held.codes().sort()).toEqual(codes)
    await end(held)
  })
})
