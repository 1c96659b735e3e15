import { type ClaimResult, Discard, StoreError } from 'tix-webhooks'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { orderCreated, SECRET, sign } from '../../support/deliveries.js'
import { ALL_TRIES, begin, KEY, REFUSED, refused, type Script, throwing } from '../../support/delivering.js'
import { deferred, never, throws } from '../../support/promises.js'
import { SOON } from '../../support/retry-after.js'
import { jump } from '../../support/time-jumps.js'
import { advance, sleep, useVirtualTime } from '../../support/virtual-time.js'

useVirtualTime()

afterEach(() => {
  vi.restoreAllMocks()
})

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

  test.each<[string, Script, number, object, readonly unknown[]]>([
    [
      'a ledger',
      { fail: never },
      30,
      { about: { namespace: 'test', account: 'acme', kind: 'order.created' } },
      [{ reason: 'free' }],
    ],
    ['a store that is none', {}, 7, {}, []],
  ])(
    'says to %s what it keeps of the event, and so does its completion',
    async (_, script, days, about, reason) => {
      const asked = await begin(script, {
        secret: undefined,
        account: () => ({ id: 'acme', secret: SECRET }),
        on: { 'order.created': throws(new Discard('free')) },
      } as never)
      await asked.answer
      const retainMs = days * 86_400_000
      expect(asked.calls).toEqual([
        ['claim', { ...asked.lease(), leaseMs: 60_000, retainMs, ...about }],
        ['complete', asked.lease(), retainMs, ...reason],
      ])
    },
  )

  test('that is answered with parked is believed of a ledger alone', async () => {
    const claim = async () => ({ status: 'parked' })
    const ofLedger = await begin({ claim, fail: never })
    expect(await ofLedger.answer).toEqual({ outcome: 'parked' })
    const { answer, called, handler } = await begin({ claim })
    expect(await answer).toMatchObject({ outcome: 'unavailable', code: 'store_misbehaved' })
    expect(called()).toEqual(['claim'])
    expect(handler).not.toHaveBeenCalled()
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

const GRANTED: ClaimResult = { status: 'claimed', attempt: 1 }

describe('a claim that is too slow', () => {
  test.each([
    ['2 s', 10, 2],
    ['the deadline of the delivery', 0.7, 0.7],
  ])('is given up at %s', async (_, timeoutSeconds, limit) => {
    const { answered, answer, records } = await begin({ claim: never }, { timeoutSeconds })
    await advance(limit - 0.001)
    expect(answered()).toBeUndefined()
    await advance(0.001)
    const { error, ...outcome } = await answer
    expect(outcome).toEqual({ outcome: 'unavailable', code: 'store_unavailable', retryAfterSeconds: SOON })
    expect((error as Error).message).toMatch(/claim took too long/)
    expect(records).toMatchObject([{ durationMs: limit * 1000 }])
    await advance(2)
  })

  test.each([
    ['soon after', 0.5],
    ['long after', 3_600],
  ])('and is granted %s is released, with the exact lease', async (_, late) => {
    const { calls, lease, reply, handler } = await tooSlow()
    await advance(late)
    expect(calls).toHaveLength(1)
    reply.resolve(GRANTED)
    await advance(0)
    expect(calls.slice(1)).toEqual([['release', lease()]])
    expect(handler).not.toHaveBeenCalled()
  })

  test.each([
    ['completed', { status: 'completed' }, []],
    ['in_flight', { status: 'in_flight', retryAfterMs: 1 }, []],
    ['a value outside the contract', undefined, ['release']],
    ['what cannot be looked at', Object.defineProperty({}, 'status', { get: throwing }), ['release']],
  ])('and is answered with %s later: only what may be a grant is released', async (_, result, released) => {
    const { called, reply, receiver } = await tooSlow()
    reply.resolve(result)
    await advance(0)
    expect(called().slice(1)).toEqual(released)
    await receiver.drain()
  })
})

test('a drain waits for 2 s more, no longer, for a claim that still hangs', async () => {
  const { drain } = await tooSlow()
  const drained = drain()
  await advance(1.999)
  expect(drained.isResolved).toBe(false)
  await advance(0.001)
  expect(drained.isResolved).toBe(true)
})

describe('the release of a claim that was granted too late', () => {
  test.each([
    ['rejects', refused],
    ['throws at once', throwing],
  ])(
    'is tried for half a minute where the store %s, and then given up without an error',
    async (_, release) => {
      // Before and after a drain has given it up.
      for (const after of [0, 3]) {
        const { called, reply, codes, kept } = await tooSlow({ release })
        await advance(after)
        reply.resolve(GRANTED)
        await advance(ALL_TRIES)
        expect(called()).toEqual(['claim', ...Array(7).fill('release')])
        expect(codes()).toEqual(['store_unavailable'])
        expect(await Promise.all(kept())).toHaveLength(1)
      }
    },
  )

  test.each<[string, (reply: Late) => void]>([
    ['the claim was lost', (reply) => reply.reject(REFUSED)],
    ['its answer is a value outside the contract', (reply) => reply.resolve('OK')],
  ])('is tried three times if the claim may not have been granted, because %s', async (_, settle) => {
    const { called, reply, codes } = await tooSlow({ release: refused })
    settle(reply)
    await advance(ALL_TRIES)
    expect(called()).toEqual(['claim', 'release', 'release', 'release'])
    expect(codes()).toEqual(['store_unavailable'])
  })
})

describe('while a claim may hold its key though it was given up, its next delivery', () => {
  /** The retry delay of the next delivery, whose event appears to be claimed by another. */
  async function retryAfterIn(
    { receiver, script }: Pick<Awaited<ReturnType<typeof tooSlow>>, 'receiver' | 'script'>,
    retryAfterMs = 60_000,
  ) {
    script.claim = async () => ({ status: 'in_flight', retryAfterMs })
    const outcome = await receiver.receive({ ...(await sign(orderCreated({ id: 'ord_1' }))), request: null })
    return outcome.retryAfterSeconds
  }

  test('is asked to retry in 5 s, or when the lease of its holder is over if that is sooner', async () => {
    const slow = await tooSlow()
    expect(await retryAfterIn(slow)).toBe(5)
    expect(await retryAfterIn(slow, 2_000)).toBe(2)
    await advance(2)
  })

  test.each([
    ['is asked to retry in 5 s, of a thousand such keys', 999, 5],
    ['is asked to retry when the lease of its holder is over, of more', 1_000, 30],
  ])('%s', { tags: ['slow'] }, async (_, others, seconds) => {
    const { receiver, script } = await begin({}, { on: { 'order.created': () => {} } })
    await advance(0)
    script.claim = never
    for (let i = 0; i < others; i++) {
      void receiver.receive({ ...(await sign(orderCreated({ id: `other_${i}` }))), request: null })
      // A few at a time: for each timer that it fires, the fake clock goes through all of them.
      if (i % 100 === 99) await advance(2)
    }
    await advance(2)
    void receiver.receive({ ...(await sign(orderCreated({ id: 'ord_1' }))), request: null })
    await advance(2)
    expect(await retryAfterIn({ receiver, script })).toBe(seconds)
    await advance(2)
  })

  test.each<[string, (reply: Late) => void]>([
    ['was not granted', (reply) => reply.resolve({ status: 'completed' })],
    ['was granted and is released', (reply) => reply.resolve(GRANTED)],
    ['was lost and is released', (reply) => reply.reject(REFUSED)],
  ])('is asked to retry when the lease of its holder is over, once that claim %s', async (_, settle) => {
    const slow = await tooSlow()
    settle(slow.reply)
    await advance(0)
    expect(await retryAfterIn(slow)).toBe(30)
    await advance(2)
  })

  test.each([
    ['for as long as its release is tried', 29, 5],
    ['no longer than its release is tried', ALL_TRIES, 30],
  ])('is asked to retry in 5 s %s', async (_, after, seconds) => {
    const slow = await tooSlow({ release: refused })
    slow.reply.resolve(GRANTED)
    await advance(after)
    expect(await retryAfterIn(slow)).toBe(seconds)
    await advance(ALL_TRIES)
  })
})

test.each([
  ['comes', () => sleep(0.5).then(() => GRANTED)],
  [
    'is returned at once, by a store that has blocked the event loop,',
    () => {
      jump(0.5)
      return GRANTED
    },
  ],
])('a grant that %s when its lease is over is given back', async (_, claim) => {
  const released = deferred<boolean>()
  const script = { claim, release: () => released.promise }
  const { calls, lease, handler, answer, drain } = await begin(script, { leaseSeconds: 0.5 })
  await advance(0.5)
  const { error, ...outcome } = await answer
  expect(outcome).toEqual({ outcome: 'unavailable', code: 'store_unavailable', retryAfterSeconds: SOON })
  expect((error as Error).message).toMatch(/lease of 0\.5 s \(leaseSeconds\) had ended/)
  expect(handler).not.toHaveBeenCalled()
  const drained = drain()
  await advance(1)
  expect(calls.slice(1)).toEqual([['release', lease()]])
  expect(drained.isResolved).toBe(false)
  released.resolve(true)
  await advance(0)
  expect(drained.isResolved).toBe(true)
})

type Late = ReturnType<typeof deferred<unknown>>

/** A claim that was given up after 2 s, and that a test answers later. */
async function tooSlow(script: Script = {}) {
  const reply: Late = deferred<unknown>()
  const begun = await begin({ claim: () => reply.promise, ...script })
  await advance(2)
  expect(begun.answered()).toMatchObject({ outcome: 'unavailable' })
  return { ...begun, reply }
}
