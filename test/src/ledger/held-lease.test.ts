import fc from 'fast-check'
import { Discard, type KeepResult, RetryLater, type WebhookOptions } from 'tix-webhooks'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { ALL_TRIES, BOOM, begin, ENDING, KEY, REFUSED, refused, throwing } from '../../support/delivering.js'
import { deferred, never, throws } from '../../support/promises.js'
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

type End = keyof typeof ENDING

const ENDS: readonly End[] = ['complete', 'release', 'fail']

const OUTCOME = { complete: 'handled', release: 'failed', fail: 'failed' } as const
const RECORDED = { complete: true, release: true, fail: 'failing' } as const

/** A delivery whose handler ends at once, so that the next store call records the end. */
const beginEnding = (end: End, reply: () => unknown = async () => RECORDED[end]) =>
  begin({ [end]: reply }, { on: { 'order.created': ENDING[end] } })

/** The reports, except the handler's own error. */
const faults = ({ reports }: Begun) => reports.map(({ error }) => error).filter((error) => error !== BOOM)

describe('the end of a run', () => {
  test.each([
    ['complete', [604_800_000]],
    ['release', []],
    ['fail', [expect.objectContaining({ code: 'handler_failed', isReplay: false, retainMs: 2_592_000_000 })]],
  ] as const)(
    'is recorded by one %s with the exact lease, and nothing is renewed any more',
    async (end, more) => {
      const ended = await beginEnding(end)
      expect(await ended.answer).toMatchObject({ outcome: OUTCOME[end] })
      await advance(120)
      expect(ended.calls.slice(1)).toEqual([[end, ended.lease(), ...more]])
      expect(faults(ended)).toEqual([])
      expect(ended.kept()).toEqual([])
    },
  )

  test('is recorded after a renewal that is under way', async () => {
    const reply = deferred<boolean>()
    const held = await begin({ renew: () => reply.promise })
    await advance(20)
    held.work.resolve(undefined)
    await advance(1)
    expect(held.called()).toEqual(['claim', 'renew'])
    expect(held.answered()).toBeUndefined()
    reply.resolve(true)
    await advance(0)
    expect(held.called()).toEqual(['claim', 'renew', 'complete'])
    expect(held.answered()).toEqual({ outcome: 'handled' })
  })

  test('waits no longer than 2 s for a renewal that hangs', async () => {
    const held = await begin({ renew: never })
    await advance(20)
    held.work.reject(BOOM)
    await advance(1.999)
    expect(held.called()).toEqual(['claim', 'renew'])
    await advance(0.001)
    expect(held.called()).toEqual(['claim', 'renew', 'release'])
    expect(held.answered()).toMatchObject({ outcome: 'failed', error: BOOM })
  })
})

describe('the end of a run on a ledger', () => {
  const later = new RetryLater({ afterSeconds: 7 })
  const discard = new Discard('free')
  const retainMs = 2_592_000_000
  const failedAs = (code: string) => expect.objectContaining({ key: KEY, code, isReplay: false, retainMs })
  const failed = { outcome: 'failed', error: BOOM }

  test.each<[string, () => unknown, KeepResult, object, readonly unknown[], Partial<WebhookOptions>?]>([
    ['a failure', throws(BOOM), 'failing', failed, ['fail', failedAs('handler_failed')]],
    ['a failure beside another run', throws(BOOM), 'in_flight', failed, ['fail', failedAs('handler_failed')]],
    ['a failure of what was handled', throws(BOOM), 'handled', failed, ['fail', failedAs('handler_failed')]],
    [
      'a failure that parks',
      throws(BOOM),
      'parked',
      { outcome: 'parked', error: BOOM },
      ['fail', failedAs('handler_failed')],
    ],
    ['a RetryLater', throws(later), 'failing', { outcome: 'retry_later' }, ['fail', failedAs('retry_later')]],
    ['a success', () => {}, 'failing', { outcome: 'handled' }, ['complete', retainMs]],
    [
      'a Discard',
      throws(discard),
      'failing',
      { outcome: 'discarded' },
      ['complete', retainMs, { reason: 'free' }],
    ],
    ['a failure that is not to be kept', throws(BOOM), 'failing', failed, ['release'], { keep: 'nothing' }],
    [
      'handledBefore',
      () => {},
      'failing',
      { outcome: 'retry_later' },
      ['release'],
      { handledBefore: throws(later) },
    ],
  ])('by %s is one call', async (_, handler, kept, outcome, [method, ...more], options) => {
    for (const fail of [() => kept, async () => kept]) {
      const ended = await begin({ fail }, { on: { 'order.created': handler }, ...options })
      expect(await ended.answer).toMatchObject(outcome)
      await advance(ALL_TRIES)
      expect(ended.calls.slice(1)).toEqual([[method, ended.lease(), ...more]])
      expect(ended.codes()).toEqual((outcome as { error?: unknown }).error === BOOM ? ['boom'] : [])
    }
  })

  test.each<[string, (work: Begun['work']) => void, unknown[]]>([
    ['completed', (work) => work.resolve(undefined), ['complete', retainMs]],
    ['sent again', (work) => work.reject(BOOM), ['fail', failedAs('handler_failed')]],
  ])(
    'is kept when it is given up, and after that its late end is %s',
    async (_, settle, [method, ...more]) => {
      const slow = deferred<KeepResult>()
      const renew = () => sleep(1.5).then(granted)
      const held = await begin({ fail: () => slow.promise, renew }, { maxRunSeconds: 20.5 })
      await advance(20.5)
      expect(held.answered()).toMatchObject({ outcome: 'timed_out', code: 'given_up' })
      // One call at a time: after the renewal.
      expect(held.called()).toEqual(['claim', 'renew'])
      const drained = held.drain()
      await advance(1)
      expect(held.called()).toEqual(['claim', 'renew', 'fail'])
      expect(drained.isResolved).toBe(false)
      settle(held.work)
      await advance(0.5)
      expect(held.called()).toEqual(['claim', 'renew', 'fail'])
      slow.resolve('failing')
      await advance(0)
      expect(drained.isResolved).toBe(true)
      expect(held.calls.slice(2)).toEqual([
        ['fail', held.lease(), failedAs('given_up')],
        [method, held.lease(), ...more],
      ])
    },
  )
})

describe('a store that does not record the end of a run', () => {
  const NOT_RECORDED = {
    complete: ['not_recorded', /ord_1 was handled.*may run again: The idempotency store's complete/],
    release: ['not_released', /ord_1 failed.*when its lease has run out: The idempotency store's release/],
    fail: [
      'not_kept',
      /^The failure of test\/order\.created\/ord_1 could not be kept: The idempotency store's fail/,
    ],
  } as const

  test.each(
    ENDS.flatMap((end) => [
      [end, 'rejects', refused, 1] as const,
      [end, 'throws at once', throwing, 1] as const,
      [end, 'hangs', never, 7] as const,
    ]),
  )(
    'because its %s %s is tried for half a minute after the answer, and reported once',
    async (end, _, reply, answeredAfter) => {
      const ended = await beginEnding(end, reply)
      await advance(answeredAfter - 0.001)
      expect(ended.answered()).toBeUndefined()
      await advance(0.001)
      expect(ended.answered()).toMatchObject({ outcome: OUTCOME[end] })
      // The rest runs after the answer, registered with a platform that would otherwise stop.
      expect(ended.kept()).toHaveLength(1)
      expect(ended.called()).toEqual(['claim', end, end, end])
      expect(faults(ended)).toEqual([])
      const drained = ended.drain()
      await advance(28.999)
      expect(drained.isResolved).toBe(false)
      await advance(ALL_TRIES)
      expect(ended.called()).toEqual(['claim', ...Array(7).fill(end)])
      const [code, message] = NOT_RECORDED[end]
      expect(faults(ended)).toEqual([
        expect.objectContaining({ code, cause: expect.objectContaining({ code: 'store_unavailable' }) }),
      ])
      expect(faults(ended)[0]?.message).toMatch(message)
      expect(ended.reports.at(-1)?.ctx).toEqual({ request: null, kind: 'order.created', key: KEY })
      await ended.kept()[0]
      expect(drained.isResolved).toBe(true)
    },
  )

  test('is tried 2, 4, 8 and 15 s later', async () => {
    const { called } = await beginEnding('complete', refused)
    const counts: number[] = []
    for (const seconds of [1, 1.999, 0.001, 3.999, 0.001, 7.999, 0.001, 14.999, 0.001]) {
      await advance(seconds)
      counts.push(called().length - 1)
    }
    expect(counts).toEqual([3, 3, 4, 4, 5, 5, 6, 6, 7])
  })

  test.each([
    ['is back', 'complete', true, []],
    ['is back, and another delivery has claimed the event', 'complete', false, ['not_recorded']],
    ['is back, and another delivery has handled the event', 'fail', 'handled', []],
    ['is back, and has parked the event, which the sender is not told any more', 'fail', 'parked', []],
  ] as const)('is tried until it %s', async (_, end, answer, codes) => {
    let reply: () => Promise<unknown> = refused
    const ended = await beginEnding(end, () => reply())
    await advance(1)
    expect(ended.answered()).toMatchObject({ outcome: OUTCOME[end] })
    reply = async () => answer
    await advance(ALL_TRIES)
    await Promise.all(ended.kept())
    expect(ended.called()).toEqual(['claim', ...Array(4).fill(end)])
    expect(faults(ended).map(({ code }) => code)).toEqual(codes)
  })

  test.each(
    ENDS.flatMap<[End, string, () => unknown]>((end) => [
      [end, 'anything but a boolean', async () => 1],
      [end, 'nothing', () => undefined],
    ]),
  )(
    'because its %s gives %s is not tried again: what breaks the contract breaks it again',
    async (end, _, reply) => {
      const ended = await beginEnding(end, reply)
      await advance(0)
      expect(ended.answered()).toMatchObject({ outcome: OUTCOME[end] })
      await advance(ALL_TRIES)
      expect(ended.called()).toEqual(['claim', end])
      expect(faults(ended)).toEqual([
        expect.objectContaining({
          code: NOT_RECORDED[end][0],
          message: expect.stringMatching(/returned .*, which the contract does not allow/),
          cause: expect.objectContaining({ code: 'store_misbehaved' }),
        }),
      ])
    },
  )
})

const replies = fc.record({
  after: fc.integer({ min: 0, max: 1_999 }),
  answer: fc.constantFrom('true', 'true', 'false', 'reject'),
})

test('there is one store call at a time for a delivery, whatever the store takes and answers', {
  tags: ['slow'],
}, async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(replies, { minLength: 1, maxLength: 40, size: 'max' }),
      fc.integer({ min: 100, max: 9_000 }),
      fc.integer({ min: 0, max: 30_000 }),
      fc.constantFrom(...ENDS),
      async (script, leaseMs, endsAtMs, end) => {
        let underWay = 0
        let most = 0
        let next = 0
        const answer = async (): Promise<unknown> => {
          underWay += 1
          most = Math.max(most, underWay)
          const { after, answer } = script[next++ % script.length] as (typeof script)[number]
          await sleep(after / 1000)
          underWay -= 1
          if (answer === 'reject') throw REFUSED
          return answer === 'true'
        }
        const ending = async () => (await answer()) && RECORDED[end]
        const held = await begin({ renew: answer, [end]: ending }, { leaseSeconds: leaseMs / 1000 })
        await advance(endsAtMs / 1000)
        if (end === 'complete') held.work.resolve(undefined)
        else held.work.reject(BOOM)
        await advance(15)
        expect(held.answered()).toMatchObject({ outcome: end === 'complete' ? 'handled' : 'failed' })
        await advance(ALL_TRIES)

        expect(most).toBe(1)
        expect(underWay).toBe(0)
        // After the handler has settled, nothing is renewed: renewals come first, then the ends.
        expect(held.called().join(' ')).toMatch(new RegExp(`^claim (renew )*(${end} ?){1,7}$`))
        expect(vi.getTimerCount()).toBe(0)
      },
    ),
    { numRuns: 200 },
  )
})
