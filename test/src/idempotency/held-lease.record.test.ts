import fc from 'fast-check'
import { describe, expect, test, vi } from 'vitest'
import { ALL_TRIES, BOOM, begin, ENDING, KEY, REFUSED, refused, throwing } from '../../support/delivering.js'
import { deferred, never } from '../../support/promises.js'
import { advance, sleep, useVirtualTime } from '../../support/virtual-time.js'

useVirtualTime()

type End = keyof typeof ENDING

const ENDS: readonly End[] = ['complete', 'release']

const OUTCOME = { complete: 'handled', release: 'failed' } as const

/** A delivery whose handler ends at once, so that the next store call records the end. */
const beginEnding = (end: End, reply?: () => unknown, options: object = {}) =>
  begin(reply === undefined ? {} : { [end]: reply }, { on: { 'order.created': ENDING[end] }, ...options })

type Begun = Awaited<ReturnType<typeof begin>>

/** The reports, except the handler's own error. */
const faults = ({ reports }: Begun) => reports.map(({ error }) => error).filter((error) => error !== BOOM)

describe('the end of a run', () => {
  test.each([
    ['complete', [604_800_000]],
    ['release', []],
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

describe('a store that does not record the end of a run', () => {
  const NOT_RECORDED = {
    complete: ['not_recorded', /ord_1 was handled.*may run again: The idempotency store's complete/],
    release: ['not_released', /ord_1 failed.*when its lease has run out: The idempotency store's release/],
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
    ['is back', true, []],
    ['is back, and another delivery has claimed the event', false, ['not_recorded']],
  ])('is tried until it %s', async (_, answer, codes) => {
    let reply: () => Promise<boolean> = refused
    const ended = await beginEnding('complete', () => reply())
    await advance(1)
    expect(ended.answered()).toEqual({ outcome: 'handled' })
    reply = async () => answer
    await advance(ALL_TRIES)
    await Promise.all(ended.kept())
    expect(ended.called()).toEqual(['claim', ...Array(4).fill('complete')])
    expect(ended.codes()).toEqual(codes)
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
      fc.constantFrom('complete', 'release'),
      async (script, leaseMs, endsAtMs, end) => {
        let underWay = 0
        let most = 0
        let next = 0
        const answer = async (): Promise<boolean> => {
          underWay += 1
          most = Math.max(most, underWay)
          const { after, answer } = script[next++ % script.length] as (typeof script)[number]
          await sleep(after / 1000)
          underWay -= 1
          if (answer === 'reject') throw REFUSED
          return answer === 'true'
        }
        const held = await begin(
          { renew: answer, complete: answer, release: answer },
          { leaseSeconds: leaseMs / 1000 },
        )
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
