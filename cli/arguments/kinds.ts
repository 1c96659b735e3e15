import type { EventKind } from '../../src/index.js'
import { UsageError } from '../failure.js'
import { didYouMean } from './did-you-mean.js'
import { listOf, oneOf } from './values.js'

/** The kinds of the specification. As keys, so that one that is missing here does not compile. */
const KINDS: Readonly<Record<EventKind, true>> = {
  'order.created': true,
  'event.published': true,
  'event.cancelled': true,
  'event.rescheduled': true,
}

/** What an endpoint may take: kinds, groups of them, or everything. */
export const readKinds = listOf(oneOf(...Object.keys(KINDS), 'order.*', 'event.*', '*'))

/**
 * Refuses what is probably a slip of the finger; any other kind may be one that is not documented.
 *
 * @throws UsageError that says what was probably meant
 */
export function checkKind(kind: string): void {
  if (Object.hasOwn(KINDS, kind)) return
  const meant = didYouMean(kind, Object.keys(KINDS))
  if (meant === '') return
  throw new UsageError(
    `There is no kind ${JSON.stringify(kind)}.${meant} For an undocumented kind, give --data.`,
  )
}
