import type { ClaimResult } from '../../src/index.js'
import type { Move } from './case-runner.js'
import { MINUTE_MS } from './expected-answer.js'
import { defineCase, type StoreCase } from './store-case.js'

/** Real time passes in a backend while a case runs, so everything is minutes: what a case takes is lost in them. */
export const LEASE = 30
export const RETENTION = 1000

/** What a holder of one key, with a token of its own, does and must be answered. Times are minutes. */
export interface Holder {
  claims(expected: ClaimResult | undefined, terms?: { readonly lease?: number; readonly kept?: number }): Move
  renews(expected: boolean | undefined, lease?: number): Move
  completes(expected: boolean | undefined, kept?: number): Move
  releases(expected: boolean | undefined): Move
}

/** Four holders of one key. */
export interface Cast {
  readonly a: Holder
  readonly b: Holder
  readonly c: Holder
  readonly d: Holder
}

/** A case that is told step by step, with one key or two. */
export function story(
  id: string,
  name: string,
  plot: (cast: Cast, other: Cast) => readonly Move[],
): StoreCase {
  return defineCase(id, name, async (trial) => {
    for (const move of plot(newCast(), newCast(' of another key'))) await trial.take(move)
  })
}

/** Holders of a key that no other run has. */
export function newCast(which = ''): Cast {
  const key = newKey()
  const [a, b, c, d] = ['a', 'b', 'c', 'd'].map((name) => holder(`${name}${which}`, key, newToken()))
  return { a, b, c, d } as Cast
}

/** @param ending what the key ends in */
export function newKey(ending = ''): string {
  return `${crypto.randomUUID()}${ending}`
}

export function newToken(): string {
  return crypto.randomUUID()
}

export function holder(name: string, key: string, token: string): Holder {
  // Each call has an object of its own: what a store does to one must not show in the next.
  const lease = () => ({ key, token })
  return {
    claims: (expected, { lease: minutes = LEASE, kept = RETENTION } = {}) => ({
      told: `claim by ${name}${minutes === LEASE && kept === RETENTION ? '' : ` for ${round(minutes)} min, kept ${round(kept)} min`}`,
      step: {
        do: 'claim',
        request: { ...lease(), leaseMs: minutes * MINUTE_MS, retainMs: kept * MINUTE_MS },
      },
      expected,
    }),
    renews: (expected, minutes = LEASE) => ({
      told: `renew by ${name}${minutes === LEASE ? '' : ` for ${round(minutes)} min`}`,
      step: { do: 'renew', lease: lease(), leaseMs: minutes * MINUTE_MS },
      expected,
    }),
    completes: (expected, kept = RETENTION) => ({
      told: `complete by ${name}${kept === RETENTION ? '' : `, kept ${round(kept)} min`}`,
      step: { do: 'complete', lease: lease(), retainMs: kept * MINUTE_MS },
      expected,
    }),
    releases: (expected) => ({
      told: `release by ${name}`,
      step: { do: 'release', lease: lease() },
      expected,
    }),
  }
}

function round(minutes: number): number {
  return Number(minutes.toFixed(6))
}

/** Time passes. */
export function pass(minutes: number): Move {
  return { told: `${minutes} min pass`, step: { do: 'advance', ms: minutes * MINUTE_MS } }
}
