import type { ClaimResult, KeepResult } from '../../src/index.js'
import { type OpenResult, RETRY_SECONDS } from '../../src/internal.js'
import type { CoreSql } from './statement.js'

/**
 * What the row of an event is after a write, in one whole number: every database can return one, and no client converts it. The lowest two bits are
 * the state, the next whether the token is that of the request, the next two the failure; above them is the attempt, or for a run of
 * another delivery the rest of its lease in milliseconds.
 */
export interface Verdict {
  readonly state: 'running' | 'released' | 'handled' | 'discarded'
  readonly isOwn: boolean
  readonly failure: 'failing' | 'parked' | undefined
  readonly attempt: number
  /** 0 if it is over. */
  readonly leftMs: number
}

/** What a run's own completion leaves. */
export const COMPLETED: Verdict = {
  state: 'handled',
  isOwn: true,
  failure: undefined,
  attempt: 0,
  leftMs: 0,
}

const STATES = ['running', 'released', 'handled', 'discarded'] as const
const FAILURES = [undefined, 'failing', 'parked'] as const

/**
 * SQL for the verdict.
 *
 * @param column spells a column of the row after the write
 * @param token spells the token of the request
 */
export function verdictSql(column: (name: string) => CoreSql, token: CoreSql): CoreSql {
  const isOwn = `${column('token')} = ${token}`
  const left = `${column('lease_until')} - :now`
  const number = `CASE WHEN ${column('state')} <> 'running' OR ${isOwn} THEN ${column('attempt')} WHEN ${left} > 0 THEN ${left} ELSE 0 END`
  return [
    `CASE ${column('state')} WHEN 'running' THEN 0 WHEN 'released' THEN 1 WHEN 'handled' THEN 2 ELSE 3 END`,
    `CASE WHEN ${isOwn} THEN 4 ELSE 0 END`,
    `CASE ${column('failure')} WHEN 'failing' THEN 8 WHEN 'parked' THEN 16 ELSE 0 END`,
    `32 * (${number})`,
  ].join(' + ')
}

/** @returns `undefined` if it is no verdict */
export function verdictIn(value: unknown): Verdict | undefined {
  // Clients can be set to return numbers as text, or as bigints.
  const number = value === null || value === '' ? Number.NaN : Number(value)
  if (!Number.isSafeInteger(number) || number < 0) return undefined
  const state = STATES[number % 4] as Verdict['state']
  const isOwn = Math.floor(number / 4) % 2 === 1
  const above = Math.floor(number / 32)
  const isOthers = state === 'running' && !isOwn
  return {
    state,
    isOwn,
    failure: FAILURES[Math.floor(number / 8) % 4],
    attempt: isOthers ? 0 : above,
    leftMs: isOthers ? above : 0,
  }
}

export function isFinal({ state }: Verdict): boolean {
  return state === 'handled' || state === 'discarded'
}

/** @param verdict `undefined`: the event is in the open transaction of an inbox; of a replay, it may be not known any more */
export function claimAnswer(verdict: Verdict | undefined, isReplay: boolean): ClaimResult {
  if (verdict === undefined) return { status: 'in_flight', retryAfterMs: isReplay ? 1 : RETRY_SECONDS * 1000 }
  const { state, isOwn, failure, attempt, leftMs } = verdict
  if (isFinal(verdict)) return { status: 'completed' }
  if (state === 'running' && isOwn) return { status: 'claimed', attempt }
  if (leftMs > 0) return { status: 'in_flight', retryAfterMs: leftMs }
  // Released by the token of this claim, or another replay has run it: nothing runs.
  return failure === 'parked' && !isOwn && !isReplay
    ? { status: 'parked' }
    : { status: 'in_flight', retryAfterMs: 1 }
}

export function completeAnswer(verdict: Verdict | undefined): boolean {
  return verdict !== undefined && isFinal(verdict) && verdict.isOwn
}

/** @returns `undefined` if the row cannot be after such a write */
export function keepAnswer(verdict: Verdict | undefined, isClaimed: boolean): KeepResult | undefined {
  if (verdict === undefined) return 'in_flight'
  if (isFinal(verdict)) return 'handled'
  return !isClaimed && verdict.leftMs > 0 ? 'in_flight' : verdict.failure
}

export function openAnswer(verdict: Verdict | undefined, isReplay: boolean): OpenResult {
  if (verdict === undefined) return { status: 'in_flight' }
  const { isOwn, failure, attempt, leftMs } = verdict
  if (isFinal(verdict)) return isOwn ? { status: 'opened', attempt } : { status: 'duplicate' }
  return { status: leftMs === 0 && failure === 'parked' && !isReplay ? 'parked' : 'in_flight' }
}
