import { type ClaimResult, StoreError } from 'tix-webhooks'
import { describe, expect, test } from 'vitest'
import { begin, KEY, refused, throwing } from '../../support/delivering.js'
import { SOON } from '../../support/retry-after.js'
import { advance, useVirtualTime } from '../../support/virtual-time.js'

useVirtualTime()

const done = { on: { 'order.created': () => {} } }

describe('a claim', () => {
  test('names the key, the lease and the retention, and a token that is new each time', async () => {
    const asked = await begin({}, { ...done, leaseSeconds: 30, retentionSeconds: 300_000 })
    await asked.answer
    const token = expect.stringMatching(/^[!-~]{1,64}$/)
    expect(asked.calls[0]).toEqual(['claim', { key: KEY, token, leaseMs: 30_000, retainMs: 300_000_000 }])
    const other = await begin({}, done)
    await other.answer
    expect(other.lease().token).not.toBe(asked.lease().token)
  })

  test.each<[ClaimResult, object]>([
    [{ status: 'claimed', attempt: 3 }, { outcome: 'handled' }],
    [{ status: 'completed' }, { outcome: 'duplicate' }],
    [
      { status: 'in_flight', retryAfterMs: 0 },
      { outcome: 'in_flight', retryAfterSeconds: 1 },
    ],
    [
      { status: 'in_flight', retryAfterMs: 6_001 },
      { outcome: 'in_flight', retryAfterSeconds: 7 },
    ],
    [
      { status: 'in_flight', retryAfterMs: 60_000 },
      { outcome: 'in_flight', retryAfterSeconds: 30 },
    ],
  ])('that is answered with %o ends so', async (result, outcome) => {
    // A synchronous store may return its result without a promise.
    for (const claim of [async () => result, () => result]) {
      const { answer, records, contexts, work, called } = await begin({ claim })
      work.resolve(undefined)
      expect(await answer).toMatchObject(outcome)
      const isGranted = result.status === 'claimed'
      expect(called()).toEqual(isGranted ? ['claim', 'complete'] : ['claim'])
      expect(contexts.map(({ attempt, deduplicated }) => [attempt, deduplicated])).toEqual(
        isGranted ? [[3, true]] : [],
      )
      expect(records.map(({ attempt }) => attempt)).toEqual([isGranted ? 3 : undefined])
    }
  })

  test.each([
    ['rejects', refused],
    ['throws at once', throwing],
    ['rejects with a fault of the lease', () => Promise.reject(new StoreError('lease_lost', 'not mine'))],
  ])('of a store that %s fails as store_unavailable and keeps the cause', async (_, claim) => {
    const { answer, called, handler, reports } = await begin({ claim })
    const outcome = await answer
    expect(outcome).toMatchObject({
      outcome: 'unavailable',
      code: 'store_unavailable',
      retryAfterSeconds: SOON,
    })
    expect(outcome.error).toBeInstanceOf(StoreError)
    expect(outcome.error).toHaveProperty('cause')
    expect((outcome.error as Error).message).toMatch(/store's claim failed.*reachable/)
    expect(reports).toEqual([
      { error: outcome.error, ctx: { request: null, kind: 'order.created', key: KEY } },
    ])
    expect(handler).not.toHaveBeenCalled()
    await advance(0)
    // The reply may have been lost instead of the claim.
    expect(called()).toEqual(['claim', 'release'])
  })

  test.each(['store_full', 'store_unavailable', 'store_misbehaved'] as const)(
    'passes on what the store itself fails with, such as %s',
    async (code) => {
      const error = new StoreError(code, 'said by the store itself')
      const { answer } = await begin({ claim: () => Promise.reject(error) })
      expect(await answer).toEqual({ outcome: 'unavailable', code, retryAfterSeconds: SOON, error })
    },
  )

  test.each([
    ['undefined', undefined],
    ['another status', { status: 'processed', attempt: 1, retryAfterMs: 1 }],
    ['claimed without attempt', { status: 'claimed' }],
    ['an attempt below 1', { status: 'claimed', attempt: 0 }],
    ['in_flight without retryAfterMs', { status: 'in_flight' }],
    ['a retryAfterMs below 0', { status: 'in_flight', retryAfterMs: -1 }],
    ['a retryAfterMs that is not a number', { status: 'in_flight', retryAfterMs: Number.NaN }],
  ])('that is answered with %s fails as store_misbehaved', async (_, result) => {
    for (const claim of [() => result, async () => result]) {
      const { answer, handler, called } = await begin({ claim })
      const { error, ...outcome } = await answer
      expect(outcome).toEqual({ outcome: 'unavailable', code: 'store_misbehaved', retryAfterSeconds: SOON })
      expect((error as Error).message).toMatch(
        /store's claim returned .*contract does not allow: see IdempotencyStore/,
      )
      expect(error).not.toHaveProperty('cause')
      expect(handler).not.toHaveBeenCalled()
      await advance(0)
      // It may have been granted.
      expect(called()).toEqual(['claim', 'release'])
    }
  })
})
