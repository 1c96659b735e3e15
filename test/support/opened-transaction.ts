import { Discard, RetryLater } from 'tix-webhooks'
import type { OnceRequest } from '../../src/idempotency/inbox.js'
import { Deadline } from '../../src/lib/deadline.js'
import { outcomeOfThrown } from '../../src/receiver/outcome.js'
import { type OpenTransaction, openTransaction } from '../../src/receiver/transaction.js'
import { type OnceScript, scriptedInbox } from './scripted-inbox.js'

export const REQUEST: OnceRequest = { key: 'test/order.created/ord_1', retainMs: 604_800_000 }

export const BOOM = new Error('boom')
export const FAILED = outcomeOfThrown(BOOM, 'order.created')
export const DISCARDED = outcomeOfThrown(new Discard('free'), 'order.created')
export const LATER = outcomeOfThrown(new RetryLater({ afterSeconds: 60 }), 'order.created')

/** Asks a scripted inbox for a transaction. */
export function ask(once: OnceScript, ms = 10_000) {
  const deadline = new Deadline(ms)
  const scripted = scriptedInbox(once)
  const opening = openTransaction(scripted.inbox, REQUEST, deadline).finally(() => deadline.clear())
  return { ...scripted, opening }
}

/** A transaction that a scripted inbox has opened. */
export async function opened(
  once: OnceScript,
): Promise<{ run: OpenTransaction } & ReturnType<typeof scriptedInbox>> {
  const { opening, ...scripted } = ask(once)
  const run = await opening
  if (typeof run === 'string') throw new Error(`the inbox said ${run}`)
  return { run, ...scripted }
}
