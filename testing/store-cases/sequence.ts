import type { ClaimResult } from '../../src/index.js'
import type { Step, StoreCaseRunner } from './case-runner.js'
import { MINUTE_MS } from './expected-answer.js'
import { defineCase, type StoreCase } from './store-case.js'

/** In minutes, so that the real time that a case takes does not matter. */
const LEASE = 30
const RETENTION = 1000

/** Makes the steps of one token of one key, each with the answer that is due. Times are in minutes. */
export interface Holder {
  claims(expected: ClaimResult | undefined, terms?: { readonly lease?: number; readonly kept?: number }): Step
  renews(expected: boolean | undefined, lease?: number): Step
  completes(expected: boolean | undefined, kept?: number): Step
  releases(expected: boolean | undefined): Step
}

/** Four holders of one key. */
export interface Holders {
  readonly a: Holder
  readonly b: Holder
  readonly c: Holder
  readonly d: Holder
}

/**
 * A case that is a sequence of steps, on one key or two.
 *
 * @param skewMinutes how far the clock of the second client's process is ahead
 */
export function sequence(
  id: string,
  name: string,
  stepsOf: (holders: Holders, other: Holders) => readonly Step[],
  skewMinutes = 0,
): StoreCase {
  async function act(runner: StoreCaseRunner): Promise<void> {
    for (const step of stepsOf(createHolders(), createHolders(' of another key'))) await runner.run(step)
  }
  return defineCase(id, name, act, skewMinutes * MINUTE_MS)
}

/** Four holders of a new key. */
export function createHolders(which = ''): Holders {
  const key = newKey()
  const [a, b, c, d] = ['a', 'b', 'c', 'd'].map((name) => holder(`${name}${which}`, key, newToken()))
  return { a, b, c, d } as Holders
}

/** @param ending the end of the key */
export function newKey(ending = ''): string {
  return `${crypto.randomUUID()}${ending}`
}

export function newToken(): string {
  return crypto.randomUUID()
}

export function holder(name: string, key: string, token: string): Holder {
  return {
    claims: (expected, { lease = LEASE, kept = RETENTION } = {}) => ({
      label: `claim by ${name}${lease === LEASE && kept === RETENTION ? '' : ` for ${round(lease)} min, kept ${round(kept)} min`}`,
      action: { do: 'claim', key, token, leaseMs: lease * MINUTE_MS, retainMs: kept * MINUTE_MS },
      expected,
    }),
    renews: (expected, lease = LEASE) => ({
      label: `renew by ${name}${lease === LEASE ? '' : ` for ${round(lease)} min`}`,
      action: { do: 'renew', key, token, leaseMs: lease * MINUTE_MS },
      expected,
    }),
    completes: (expected, kept = RETENTION) => ({
      label: `complete by ${name}${kept === RETENTION ? '' : `, kept ${round(kept)} min`}`,
      action: { do: 'complete', key, token, retainMs: kept * MINUTE_MS },
      expected,
    }),
    releases: (expected) => ({
      label: `release by ${name}`,
      action: { do: 'release', key, token },
      expected,
    }),
  }
}

function round(minutes: number): number {
  return Number(minutes.toFixed(6))
}

/** A step in which only time passes. */
export function advance(minutes: number): Step {
  return { label: `${minutes} min pass`, action: { do: 'advance', ms: minutes * MINUTE_MS } }
}

/** The same step by the second client of the backend. */
export function onSecond(step: Step): Step {
  return { ...step, isOnSecond: true }
}

/** A purge by the second client. */
export const purge: Step = onSecond({ label: 'purge', action: { do: 'purge' } })
