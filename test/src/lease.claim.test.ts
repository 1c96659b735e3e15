import { type ClaimRequest, type ClaimResult, memoryStore, StoreError } from 'tix-webhooks'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { Deadline } from '../../src/lib/deadline.js'
import { claim } from '../../src/receiver/lease.js'
import { ALL_TRIES_MS, unreachable } from '../support/held-lease.js'
import { deferred, never, watch } from '../support/promises.js'
import { type Script, scriptedStore } from '../support/scripted-store.js'

const LEASE = { key: 'orders/order.created/ord_1', token: 't.1' }
const REQUEST: ClaimRequest = { ...LEASE, leaseMs: 60_000, retainMs: 604_800_000 }

beforeEach(() => {
  vi.useFakeTimers()
})

afterEach(() => {
  vi.useRealTimers()
})

/** Sends a claim within a deadline, and keeps what it came to and what a drain would wait for. */
function send(script: Script, deadlineMs = 10_000) {
  const scripted = scriptedStore(script)
  const deadline = new Deadline(deadlineMs)
  const tracked: Promise<unknown>[] = []
  const settled: { result?: ClaimResult; error?: unknown } = {}
  const sent = claim(scripted.store, REQUEST, deadline, (work) => tracked.push(work), new Set()).then(
    (result) => {
      settled.result = result
    },
    (error: unknown) => {
      settled.error = error
    },
  )
  return { ...scripted, deadline, tracked, settled, sent }
}

describe('a claim', () => {
  test.each<ClaimResult>([
    { status: 'claimed', attempt: 3 },
    { status: 'completed' },
    { status: 'in-flight', retryAfterMs: 0 },
  ])('gives what the store says: $status', async (result) => {
    const { settled, sent, calls, tracked } = send({ claim: async () => result })
    await sent
    expect(settled).toEqual({ result })
    expect(calls).toEqual([['claim', REQUEST]])
    expect(tracked).toEqual([])
  })

  test('of a store that blocks the event loop before it hangs is given up at the deadline all the same', async () => {
    const blocked = () => vi.advanceTimersByTime(900) && never()
    const { settled } = send({ claim: blocked }, 1_000)
    await vi.advanceTimersByTimeAsync(101)
    expect(settled.error).toMatchObject({ code: 'store_unavailable' })
  })

  test('leaves no timer of its own', async () => {
    for (const script of [{}, { claim: unreachable }]) {
      const { sent, deadline, tracked } = send(script)
      await Promise.all([sent, ...tracked])
      deadline.clear()
    }
    expect(vi.getTimerCount()).toBe(0)
  })

  test.each([
    ['rejects', async () => Promise.reject(new Error('connect ECONNREFUSED'))],
    [
      'throws at once',
      () => {
        throw new Error('not connected')
      },
    ],
    ['rejects with nothing', () => Promise.reject(undefined)],
    ['rejects with a fault of the lease', () => Promise.reject(new StoreError('lease_lost', 'not mine'))],
  ])('of a store that %s fails as store_unavailable and keeps the cause', async (_, reply) => {
    const { settled, sent, called } = send({ claim: reply })
    await sent
    expect(settled.error).toBeInstanceOf(StoreError)
    expect(settled.error).toMatchObject({
      code: 'store_unavailable',
      message: expect.stringMatching(/store's claim failed.*reachable/),
    })
    expect(settled.error).toHaveProperty('cause')
    // The reply may be what was lost, and not the claim.
    expect(called()).toEqual(['claim', 'release'])
  })

  test.each(['store_full', 'store_unavailable'] as const)(
    'passes on what a store says with %s',
    async (code) => {
      const error = new StoreError(code, 'said by the store itself')
      const { settled, sent } = send({ claim: () => Promise.reject(error) })
      await sent
      expect(settled.error).toBe(error)
    },
  )

  test('of a full memory store fails as store_full', async () => {
    const store = memoryStore({ maxKeys: 1 })
    await store.claim({ ...REQUEST, key: 'another' })
    const { settled, sent } = send({ claim: () => store.claim(REQUEST) })
    await sent
    expect(settled.error).toMatchObject({ code: 'store_full' })
  })

  test.each([
    ['undefined', undefined],
    ['null', null],
    ['a boolean', true],
    ['an array', []],
    ['another status', { status: 'processed' }],
    ['no status', { attempt: 1 }],
    ['claimed without attempt', { status: 'claimed' }],
    ['an attempt that is no integer', { status: 'claimed', attempt: '1' }],
    ['in-flight without retryAfterMs', { status: 'in-flight' }],
    ['a retryAfterMs below 0', { status: 'in-flight', retryAfterMs: -1 }],
    ['a retryAfterMs that is no number', { status: 'in-flight', retryAfterMs: Number.NaN }],
    ['an attempt below 1', { status: 'claimed', attempt: 0 }],
  ])('that is answered with %s fails as store_misbehaved', async (_, reply) => {
    for (const answer of [() => reply, async () => reply]) {
      const { settled, sent } = send({ claim: answer })
      await sent
      expect(settled.error).toMatchObject({
        code: 'store_misbehaved',
        message: expect.stringMatching(/store's claim resolved to .*contract/),
      })
    }
  })
})

type Late = ReturnType<typeof deferred<unknown>>

describe('a claim that is too slow', () => {
  test.each([
    ['2 s', 10_000, 2_000],
    ['the deadline of the delivery', 700, 700],
  ])('is given up at %s', async (_, deadlineMs, limitMs) => {
    const { settled } = send({ claim: never }, deadlineMs)
    await vi.advanceTimersByTimeAsync(limitMs - 1)
    expect(settled).toEqual({})
    await vi.advanceTimersByTimeAsync(1)
    expect(settled.error).toMatchObject({
      code: 'store_unavailable',
      message: expect.stringMatching(/claim took too long/),
    })
  })

  test('is given up at what is left of the deadline, not at all of it', async () => {
    const scripted = scriptedStore({ claim: never })
    const deadline = new Deadline(2_500)
    await vi.advanceTimersByTimeAsync(2_000)
    const failed = vi.fn()
    claim(scripted.store, REQUEST, deadline, () => {}, new Set()).catch(failed)
    await vi.advanceTimersByTimeAsync(499)
    expect(failed).not.toHaveBeenCalled()
    await vi.advanceTimersByTimeAsync(1)
    expect(failed).toHaveBeenCalledOnce()
  })

  test.each([
    ['soon after', 500],
    ['long after', 3_600_000],
  ])('and is granted %s is released, with the exact lease', async (_, lateMs) => {
    const reply = deferred<unknown>()
    const { calls } = send({ claim: () => reply.promise })
    await vi.advanceTimersByTimeAsync(2_000 + lateMs)
    expect(calls).toHaveLength(1)

    reply.resolve({ status: 'claimed', attempt: 1 })
    await vi.advanceTimersByTimeAsync(0)

    expect(calls.slice(1)).toEqual([['release', LEASE]])
  })

  test.each([
    ['completed', { status: 'completed' }],
    ['in-flight', { status: 'in-flight', retryAfterMs: 1 }],
  ])('and says %s later releases nothing', async (_, result) => {
    const reply = deferred<unknown>()
    const { called, tracked } = send({ claim: () => reply.promise })
    await vi.advanceTimersByTimeAsync(2_000)
    reply.resolve(result)
    await vi.advanceTimersByTimeAsync(0)
    expect(called()).toEqual(['claim'])
    await expect(Promise.all(tracked)).resolves.toBeDefined()
  })

  test('and says nonsense later is released, as it may have been granted', async () => {
    const reply = deferred<unknown>()
    const { calls } = send({ claim: () => reply.promise })
    await vi.advanceTimersByTimeAsync(2_000)
    reply.resolve(undefined)
    await vi.advanceTimersByTimeAsync(0)
    expect(calls).toEqual([
      ['claim', REQUEST],
      ['release', LEASE],
    ])
  })

  test('keeps a drain waiting until it is released', async () => {
    const reply = deferred<unknown>()
    const release = deferred<unknown>()
    const { tracked } = send({ claim: () => reply.promise, release: () => release.promise })
    await vi.advanceTimersByTimeAsync(2_000)
    const drained = watch(Promise.all(tracked))

    reply.resolve({ status: 'claimed', attempt: 1 })
    await vi.advanceTimersByTimeAsync(1_000)
    expect(drained.isResolved).toBe(false)
    release.resolve(true)
    await vi.advanceTimersByTimeAsync(0)
    expect(drained.isResolved).toBe(true)
  })

  test('keeps a drain waiting for 2 s more at most', async () => {
    const { tracked } = send({ claim: never })
    await vi.advanceTimersByTimeAsync(2_000)
    expect(tracked).toHaveLength(1)
    const drained = watch(Promise.all(tracked))
    await vi.advanceTimersByTimeAsync(1_999)
    expect(drained.isResolved).toBe(false)
    await vi.advanceTimersByTimeAsync(1)
    expect(drained.isResolved).toBe(true)
  })

  test.each([
    ['the claim rejects', (late: Late) => late.reject(new Error('reset')), undefined],
    [
      'the release rejects',
      (late: Late) => late.resolve({ status: 'claimed', attempt: 1 }),
      () => Promise.reject(new Error('reset')),
    ],
    [
      'the release throws at once',
      (late: Late) => late.resolve({ status: 'claimed', attempt: 1 }),
      () => {
        throw new Error('not connected')
      },
    ],
  ])('troubles nobody when %s in the end', async (_, settle, release) => {
    const late = deferred<unknown>()
    const { tracked } = send({ claim: () => late.promise, ...(release === undefined ? {} : { release }) })
    await vi.advanceTimersByTimeAsync(2_000)
    settle(late)
    await vi.advanceTimersByTimeAsync(ALL_TRIES_MS)
    await expect(Promise.all(tracked)).resolves.toBeDefined()
  })
})
