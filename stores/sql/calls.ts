import { BURST_WAIT_MS, STATEMENT_MS } from '../../src/internal.js'
import { createBursts } from './bursts.js'
import type { LedgerTable, WriteValues } from './ledger.js'
import type { Verdict } from './verdict.js'
import type { UpsertName } from './writes.js'

/** A table of events that can write several with one statement. */
export interface BurstTable extends Omit<LedgerTable, 'upsert'> {
  /**
   * @param requests one, or for `claim` and `complete` several, each of another key and in the order of keys
   * @returns the verdicts in that order
   */
  upsert(name: UpsertName, requests: readonly WriteValues[]): Promise<readonly (Verdict | undefined)[]>
}

/** The most connections that deliveries take for a store, so that the app has the rest of the pool. */
const LIMITS = { total: 4, perKind: 2 }
/** The most claims or completions in one statement. */
const SIZE = 100

/**
 * The same table for calls that arrive together: claims and completions go together, and all take a bounded number of connections, but for
 * reads.
 *
 * @param isOfOneRequest see `BurstLimits`
 */
export function inBursts(table: BurstTable, isOfOneRequest: (error: unknown) => boolean): LedgerTable {
  const burst = createBursts({ ...LIMITS, isOfOneRequest })

  const together = (name: UpsertName) =>
    burst<WriteValues, Verdict | undefined>({
      size: SIZE,
      send: (requests) => table.upsert(name, requests),
      waitMs: BURST_WAIT_MS,
    })
  const claim = together('claim')
  const complete = together('complete')

  interface Job {
    readonly key: string
    readonly bytes: number
    run(): Promise<unknown>
  }

  /** They may wait for longer: a claim that comes late keeps an event for nobody, and the end of a run that comes late still counts. */
  function inTurn(): <T>(key: string, run: () => Promise<T>, bytes?: number) => Promise<T> {
    const call = burst<Job, unknown>({
      size: 1,
      waitMs: STATEMENT_MS,
      send: (jobs) => Promise.all(jobs.map((job) => job.run())),
      bytesOf: ({ bytes }) => bytes,
    })
    return <T>(key: string, run: () => Promise<T>, bytes = 0) => call({ key, run, bytes }) as Promise<T>
  }
  const upsert = inTurn()
  const update = inTurn()
  const find = inTurn()

  return {
    ...table,
    upsert(name, values) {
      if (name === 'claim') return claim(values)
      if (name === 'complete') return complete(values)
      const bytes = values.raw_body instanceof Uint8Array ? values.raw_body.length : 0
      return upsert(values.key, async () => (await table.upsert(name, [values]))[0], bytes)
    },
    update: (name, values) => update(values.key, () => table.update(name, values)),
    find: (key) => find(key, () => table.find(key)),
  }
}
