import type { EventKind } from 'tix-webhooks'
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

/** Reads a list of kinds, of groups such as `event.*`, or `*`. */
export const readKinds = listOf(oneOf(...Object.keys(KINDS), 'order.*', 'event.*', '*'))

/**
 * Refuses a probable typo; any other kind may be an undocumented one.
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
