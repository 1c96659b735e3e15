import type { InboxConnections } from '../../ledger/inbox.js'
import { checkWholeNumber } from '../../lib/check-number.js'
import { describeType } from '../../lib/describe-type.js'
import { checkOptionNames, isRecord } from '../../lib/option-names.js'
import { sharedMap } from '../../lib/shared-map.js'
import { RunSlots } from '../../operation/run-slots.js'
import type { Concurrency } from './options.js'

interface ConcurrencyOptions {
  readonly concurrency?: number | Concurrency | undefined
  readonly account?: unknown
  readonly inbox?: object | undefined
}

/**
 * The slots of runs; `undefined` if their number has no limit.
 *
 * @throws TypeError when the option is invalid
 */
export function slotsOf({ concurrency, account, inbox }: ConcurrencyOptions): RunSlots | undefined {
  if (concurrency === undefined) return slotsOfInbox(inbox)
  const { runs, perAccount: given } = limitsIn(concurrency)
  const name = typeof concurrency === 'number' ? 'concurrency' : 'concurrency.runs'
  checkLimit(name, runs)
  const perAccount = given ?? halfOf(runs)
  checkLimit('concurrency.perAccount', perAccount)
  if (given !== undefined && given !== Number.POSITIVE_INFINITY && account === undefined) {
    throw new TypeError('concurrency.perAccount needs the option account.')
  }
  return Math.min(runs, perAccount) === Number.POSITIVE_INFINITY
    ? undefined
    : new RunSlots({ runs, perAccount })
}

function limitsIn(concurrency: number | Concurrency): Concurrency {
  if (typeof concurrency === 'number') return { runs: concurrency, perAccount: undefined }
  if (!isRecord(concurrency)) {
    throw new TypeError(
      `concurrency must be a number, or an object of runs and perAccount; not ${describeType(concurrency)}.`,
    )
  }
  return checkOptionNames(concurrency, ['runs', 'perAccount'], 'concurrency.')
}

/** One account whose handlers hang must leave runs to the others. */
function halfOf(runs: number): number {
  return Math.ceil(runs / 2)
}

function checkLimit(name: string, value: number): void {
  if (value !== Number.POSITIVE_INFINITY) checkWholeNumber(name, value)
}

/** The slots of all receivers that share a pool. */
function slotsOfInbox(inbox: object | undefined): RunSlots | undefined {
  const connections = (inbox as { connections?: InboxConnections } | undefined)?.connections
  if (typeof connections !== 'object' || !(connections?.max >= 1)) return undefined
  const slotsByPool = sharedMap<InboxConnections, RunSlots>('slots')
  let slots = slotsByPool.get(connections)
  if (slots === undefined) {
    // One is left for the rest of the app, such as a readiness probe.
    const runs = Math.max(1, connections.max - 1)
    slots = new RunSlots({ runs, perAccount: halfOf(runs) })
    slotsByPool.set(connections, slots)
  }
  return slots
}
