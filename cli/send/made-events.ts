import { randomInt } from 'node:crypto'
import { withChanges } from '../../sandbox/internal.js'
import { sampleEvent } from '../../testing/index.js'
import { asUsage, UsageError, wordsOf } from '../failure.js'

/** An event to be sent without a sandbox. */
export interface EventRequest {
  readonly kind: string
  /** `data` whole. Default: a sample, for a kind that is documented. */
  readonly data?: Readonly<Record<string, unknown>> | undefined
  /** Other values at some paths. */
  readonly set: Readonly<Record<string, unknown>>
}

const MAX_SEED = 2 ** 32 - 1

/**
 * Makes the JSON of another event each time it is called.
 *
 * @throws UsageError when there is no sample of the kind, or a path that is set is not there
 */
export async function eventMaker({ kind, data, set }: EventRequest): Promise<() => string> {
  const make = (): string => {
    // The samples begin anew in each process: without a seed, a receiver would know the first one already.
    const sample = data === undefined ? sampleOf(kind, randomInt(MAX_SEED)) : { data }
    const event = { type: kind, created_at: new Date().toISOString(), data: sample.data }
    return JSON.stringify(withChanges(event, set))
  }
  await asUsage(() => tried(make))
  return make
}

/** Any text may be given as a kind: what has no sample is refused in words. */
function sampleOf(kind: string, seed: number): { data: object } {
  return sampleEvent(kind as 'order.created', { seed })
}

function tried(make: () => string): void {
  try {
    make()
  } catch (cause) {
    if (cause instanceof TypeError) throw cause
    throw new UsageError(wordsOf(cause), { cause })
  }
}
