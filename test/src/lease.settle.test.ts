import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import {
  ALL_TRIES_MS,
  ENDING,
  hold,
  LEASE,
  LEASE_MS,
  RETAIN_MS,
  THIRD_MS,
  toTheEnd,
  unreachable,
} from '../support/held-lease.js'
import { deferred, never } from '../support/promises.js'

beforeEach(() => {
  vi.useFakeTimers()
})

afterEach(() => {
  vi.useRealTimers()
})

describe('settling', () => {
  test.each([
    ['complete', ['complete', LEASE, RETAIN_MS]],
    ['release', ['release', LEASE]],
  ] as const)('%s is one call with the exact lease, and ends the renewing', async (end, call) => {
    const { held, calls, reports } = hold()
    await toTheEnd(held.settle(ENDING[end]))
    await vi.advanceTimersByTimeAsync(LEASE_MS * 2)
    expect(calls).toEqual([call])
    expect(reports).toEqual([])
    expect(vi.getTimerCount()).toBe(0)
  })

  test('waits for a renewal that is under way', async () => {
    const reply = deferred<boolean>()
    const { held, called } = hold({ renew: () => reply.promise })
    await vi.advanceTimersByTimeAsync(THIRD_MS)
    const settling = held.settle(ENDING.complete)
    await vi.advanceTimersByTimeAsync(1_000)
    expect(called()).toEqual(['renew'])

    reply.resolve(true)
    await toTheEnd(settling)
    expect(called()).toEqual(['renew', 'complete'])
  })

  test('waits no longer than 2 s for a renewal that hangs', async () => {
    const { held, called } = hold({ renew: never })
    await vi.advanceTimersByTimeAsync(THIRD_MS)
    void held.settle(ENDING.release)
    await vi.advanceTimersByTimeAsync(2_000)
    expect(called()).toEqual(['renew', 'release'])
  })

  test.each(['complete', 'release'] as const)(
    '%s is tried three times with pauses, and a late success is no fault',
    async (end) => {
      let tries = 0
      const { held, calls, reports } = hold({
        [end]: async () => {
          tries += 1
          if (tries < 3) throw new Error('connect ECONNREFUSED')
          return true
        },
      })
      const settling = held.settle(ENDING[end])
      await vi.advanceTimersByTimeAsync(199)
      expect(calls).toHaveLength(1)
      await vi.advanceTimersByTimeAsync(1)
      expect(calls).toHaveLength(2)
      await vi.advanceTimersByTimeAsync(799)
      expect(calls).toHaveLength(2)
      await vi.advanceTimersByTimeAsync(1)
      expect(calls).toHaveLength(3)
      await toTheEnd(settling)
      expect(reports).toEqual([])
    },
  )

  test.each([
    ['rejects', unreachable],
    ['hangs', never],
    [
      'throws at once',
      () => {
        throw new Error('not connected')
      },
    ],
  ])(
    'against a store that %s ends after three tries, is tried for half a minute more, and is reported once',
    async (_, reply) => {
      const completing = hold({ complete: reply })
      await toTheEnd(completing.held.settle(ENDING.complete))
      expect(completing.tracked).toHaveLength(1)
      expect(completing.reports).toEqual([])
      await vi.advanceTimersByTimeAsync(ALL_TRIES_MS)
      expect(completing.called()).toEqual(Array(7).fill('complete'))
      expect(completing.reports).toEqual([
        expect.objectContaining({
          code: 'not_recorded',
          message: expect.stringMatching(
            /ord_1 was handled.*may run again: The idempotency store's complete/,
          ),
          cause: expect.objectContaining({ code: 'store_unavailable' }),
        }),
      ])

      const releasing = hold({ release: reply })
      await toTheEnd(releasing.held.settle(ENDING.release))
      await vi.advanceTimersByTimeAsync(ALL_TRIES_MS)
      expect(releasing.called()).toEqual(Array(7).fill('release'))
      expect(releasing.reports).toEqual([
        expect.objectContaining({
          code: 'not_released',
          message: expect.stringMatching(/ord_1 failed.*when its lease has run out/),
          cause: expect.objectContaining({ code: 'store_unavailable' }),
        }),
      ])
      await Promise.all([...completing.tracked, ...releasing.tracked])
      expect(vi.getTimerCount()).toBe(0)
    },
  )

  test.each([
    ['is back', true, []],
    ['is back, and another delivery has claimed the event', false, ['not_recorded']],
  ])('goes on until the store %s', async (_, answer, codes) => {
    let isBack = false
    const { held, called, tracked, ...heard } = hold({
      complete: async () => (isBack ? answer : unreachable()),
    })
    await toTheEnd(held.settle(ENDING.complete))
    const soFar = called().length
    isBack = true
    await vi.advanceTimersByTimeAsync(ALL_TRIES_MS)
    await Promise.all(tracked)
    expect(called()).toHaveLength(soFar + 1)
    expect(heard.codes()).toEqual(codes)
  })

  test.each([
    ['what is no boolean', async () => 1],
    ['nothing', () => undefined],
  ])(
    'against a store that gives %s ends at once: what breaks the contract breaks it again',
    async (_, reply) => {
      for (const end of ['complete', 'release'] as const) {
        const { held, called, reports } = hold({ [end]: reply })
        await toTheEnd(held.settle(ENDING[end]))
        expect(called()).toEqual([end])
        expect(reports).toEqual([
          expect.objectContaining({
            message: expect.stringMatching(/resolved to .*, which the contract does not allow/),
            cause: expect.objectContaining({ code: 'store_misbehaved' }),
          }),
        ])
      }
    },
  )

  test('a completion that the store refuses is reported as a possible second run, and not tried again', async () => {
    const { held, called, reports } = hold({ complete: async () => false })
    await toTheEnd(held.settle(ENDING.complete))
    expect(called()).toEqual(['complete'])
    expect(reports).toEqual([
      expect.objectContaining({
        code: 'not_recorded',
        message: expect.stringMatching(/Another delivery has claimed it since.*second time/),
      }),
    ])
  })

  test('a release that the store refuses is no fault: somebody else has the event already', async () => {
    const { held, called, reports } = hold({ release: async () => false })
    await toTheEnd(held.settle(ENDING.release))
    expect(called()).toEqual(['release'])
    expect(reports).toEqual([])
  })

  test('keeps the cause that the store gave', async () => {
    const { held, reports } = hold({ complete: unreachable })
    await toTheEnd(held.settle(ENDING.complete))
    await vi.advanceTimersByTimeAsync(ALL_TRIES_MS)
    expect(reports[0]?.cause).toMatchObject({ cause: new Error('connect ECONNREFUSED') })
  })
})
