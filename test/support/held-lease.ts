import type { StoreError } from 'tix-webhooks'
import { expect, vi } from 'vitest'
import { monotonicMs, Timers } from '../../src/lib/timers.js'
import { HeldLease } from '../../src/receiver/lease.js'
import { HANDLED, type Outcome } from '../../src/receiver/outcome.js'
import { watch } from './promises.js'
import { type Script, scriptedStore } from './scripted-store.js'

export const LEASE = { key: 'orders/order.created/ord_1', token: 't.1' }
export const LEASE_MS = 60_000
export const THIRD_MS = LEASE_MS / 3
export const RETAIN_MS = 604_800_000

/** What makes a lease end so. */
export const ENDING: Readonly<Record<'complete' | 'release', Outcome>> = {
  complete: HANDLED,
  release: { outcome: 'failed', code: 'handler_failed' },
}

/** A lease that was just claimed, and all that is heard of it. */
export function hold(script: Script = {}, { leaseMs = LEASE_MS, claimedMsAgo = 0 } = {}) {
  const scripted = scriptedStore(script)
  const reports: StoreError[] = []
  const losses: StoreError[] = []
  const tracked: Promise<unknown>[] = []
  const held = new HeldLease({
    store: scripted.store,
    lease: LEASE,
    claimedAtMs: monotonicMs() - claimedMsAgo,
    leaseMs,
    retainMs: RETAIN_MS,
    timers: new Timers(),
    onLost: (reason) => losses.push(reason),
    report: (error) => reports.push(error),
    track: (work) => tracked.push(work),
  })
  return { ...scripted, held, reports, losses, tracked, codes: () => reports.map(({ code }) => code) }
}

/** Lets a settling go to its end, however long its pauses and limits are together. */
export async function toTheEnd(settling: Promise<unknown>): Promise<void> {
  const settled = watch(settling)
  await vi.advanceTimersByTimeAsync(15_000)
  expect(settled.isResolved, 'settling ends').toBe(true)
}

/** Longer than all tries to settle take, each of them as long as it may. */
export const ALL_TRIES_MS = 50_000

export const unreachable = async () => {
  throw new Error('connect ECONNREFUSED')
}
