import { ConfigurationError, UnavailableError } from '../errors.js'
import type { AnyEvent } from '../event/events.js'
import { giveRequest } from '../event/handlers.js'
import type { EventKey } from '../event/key.js'
import { checkedFor, isMisuse } from '../lib/call-site.js'
import { describeType, describeValue } from '../lib/describe-type.js'
import { messageOf } from '../lib/errors/read-error.js'
import { isName, NAME_RULE } from '../signature/account.js'
import type { AuthenticDelivery } from './delivery.js'
import { isSignal } from './outcome.js'

/** The delivery of an event, for the option `handledBefore`. */
export interface HandledBeforeContext<Request = unknown, Found = unknown> {
  /** The event's key, as it is stored. */
  readonly key: string
  /**
   * The key that the event has in another namespace, by the same key function.
   *
   * @param namespace the other namespace
   * @param account the id of an account; `null` for a receiver without accounts. Default: that of this delivery
   * @throws TypeError when one of them is no name of 1 to 64 characters of `A-Z a-z 0-9 . _ -`
   */
  keyIn(namespace: string, account?: string | null): string
  /** The account of the delivery, as the option `account` returned it; `undefined` without that option. */
  readonly account: Found
  /** The framework's own request. */
  readonly request: Request
  /** The bytes as they were sent. */
  readonly rawBody: Uint8Array
}

/**
 * Says whether an event was handled before this receiver had a record of it: see the option `handledBefore`. A `RetryLater` or a `Discard`
 * that it throws is obeyed, as in a handler.
 */
export type HandledBefore<Event, Request = unknown, Found = unknown> = (
  event: Event,
  ctx: HandledBeforeContext<Request, Found>,
) => boolean | Promise<boolean>

/** The part of a delivery's state that handledBefore needs. */
interface AskingDelivery {
  readonly key: string | undefined
  /** The id of the account. */
  readonly account: string | undefined
  readonly hasRequest: boolean
  readonly request: unknown
}

/** The function that asks whether an event was handled before; `undefined` if the event has no key. */
export function askingBefore<Request>(
  ask: HandledBefore<AnyEvent, Request>,
  event: AnyEvent,
  eventKey: EventKey | null,
  state: AskingDelivery,
  { account, rawBody }: AuthenticDelivery,
): (() => Promise<boolean>) | undefined {
  const { key, account: id } = state
  if (eventKey === null || key === undefined) return undefined
  const ctx: Omit<HandledBeforeContext, 'request'> = { key, keyIn: keyInOf(eventKey, id), account, rawBody }
  giveRequest(ctx, state)
  return () => answerOf(() => ask(event, ctx as HandledBeforeContext<Request>))
}

function keyInOf(eventKey: EventKey, id: string | undefined): HandledBeforeContext['keyIn'] {
  const checkName = (what: string, name: string): void => {
    if (!isName(name))
      throw new TypeError(`keyIn: the ${what} must be ${NAME_RULE}, not ${describeValue(name)}.`)
  }
  const keyIn = (namespace: string, account: string | null = id ?? null): string =>
    checkedFor(keyIn, () => {
      checkName('namespace', namespace)
      if (account !== null) checkName('id of the account', account)
      return eventKey(namespace, account)
    })
  return keyIn
}

/**
 * @throws RetryLater, Discard of the user's function
 * @throws UnavailableError when it fails: the event must not run, because it may have been handled
 * @throws ConfigurationError when it returns something else than a boolean, or misuses a function of ours
 */
async function answerOf(ask: () => unknown): Promise<boolean> {
  let answer: unknown
  try {
    answer = await ask()
  } catch (cause) {
    if (isSignal(cause)) throw cause
    if (isMisuse(cause))
      throw new ConfigurationError(`Your handledBefore function threw: ${messageOf(cause)}`, { cause })
    throw new UnavailableError(
      'handled_before_unavailable',
      'Your handledBefore function failed, so nothing has run. It is called again at the next attempt.',
      { cause },
    )
  }
  if (typeof answer === 'boolean') return answer
  throw new ConfigurationError(
    `Your handledBefore function returned ${describeType(answer)}: it must return true if the event was handled, and false if not.`,
  )
}
