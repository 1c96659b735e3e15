import { REPLAYS_AT_ONCE, STATEMENT_MS } from '../../durations.js'
import { StoreError } from '../../errors.js'
import type { Failure, FailureQuery } from '../../failures/failures.js'
import { checkFailureFilter, checkFailureLimit } from '../../failures/rules.js'
import { isMisuse } from '../../lib/call-site.js'
import { describeType, describeValue } from '../../lib/describe-type.js'
import { messageOf } from '../../lib/errors/message-of.js'
import { redactError } from '../../lib/errors/redact-error.js'
import { checkOptionNames, isRecord } from '../../lib/option-names.js'
import { within } from '../../lib/time/alarm-clock.js'
import type { AuthenticDelivery } from '../delivery.js'
import type { Operations, Replayed, ReplayFilter, ReplayOptions } from '../operation/operations.js'
import type { Settings } from '../options/settings.js'
import { draining, type Outcome } from '../outcome.js'
import { DeliveryState, type Shared } from '../state.js'
import { replayedDelivery } from './replayed-delivery.js'

/** Takes an authentic delivery to its outcome; never rejects. */
type Handle<Request> = (
  state: DeliveryState<Request>,
  delivery: AuthenticDelivery,
  replayed: Failure,
) => Promise<Outcome>

/** The account whose failures are replayed: its id, and the account as the user's function returned it. */
interface Owner {
  readonly id: string | undefined
  readonly account: unknown
}

/** Makes `replay()` of a receiver. */
export function replaying<Request>(
  settings: Settings<Request>,
  shared: Shared<Request>,
  handle: Handle<Request>,
): Operations<Request>['replay'] {
  const { failureTerms, namespace } = settings

  async function replay(what: string | ReplayFilter, options?: ReplayOptions<Request>): Promise<unknown> {
    const { request } = checkOptionNames(options ?? {}, ['request'])
    checkWhat(what)
    const owner = await ownerOf(request)
    return typeof what === 'string' ? replayKey(what, owner, request) : replayMatching(what, owner, request)
  }

  async function replayKey(
    key: string,
    owner: Owner,
    request: Request | undefined,
  ): Promise<Outcome | undefined> {
    const failure = await asked(async () => failureTerms?.failures.get(key))
    if (failure === undefined) return undefined
    return isOf(owner, checkedFailure(failure)) ? replayOne(failure, owner, request) : undefined
  }

  async function replayMatching(
    filter: ReplayFilter,
    owner: Owner,
    request: Request | undefined,
  ): Promise<readonly Replayed[]> {
    const { limit: given, ...conditions } = checkOptionNames(filter, FILTER_NAMES)
    const limit = checkFailureLimit(given)
    checkFailureFilter(conditions)
    const query: FailureQuery = { ...conditions, ...ownedBy(owner, conditions), order: 'oldest' }
    const replayed: Replayed[] = []
    // One that fails again is listed again, as the latest.
    const seen = new Set<string>()
    // A failure that no handler takes stays the oldest, and must not keep the others from their turn.
    let left = limit
    let page = (await pageOf(query, left)).filter(isNew)
    // Of those that failed again alone there is no further page.
    while (page.length > 0) {
      for (const { key } of page) seen.add(key)
      const failures = page.filter((failure) => isOf(owner, failure)).slice(0, left)
      replayed.push(
        ...(await fewAtATime(failures, async (failure) => ({
          key: failure.key,
          ...(await replayOne(failure, owner, request)),
        }))),
      )
      left = limit - replayed.filter(({ outcome }) => outcome !== 'unhandled').length
      if (left === 0 || seen.size >= MOST_SEEN || shared.drain.isClosed) break
      // The outcomes so far must not be lost with the rest of the list.
      const next = await pageOf({ ...query, after: page.at(-1) }, left).catch(() => [])
      page = next.filter(isNew)
    }
    return replayed

    function isNew({ key }: Failure): boolean {
      return !seen.has(key)
    }
  }

  async function replayOne(
    failure: Failure,
    { account }: Owner,
    request: Request | undefined,
  ): Promise<Outcome> {
    const { rawBody, signedAt, secretIndex } = failure
    const state = new DeliveryState(replayedDelivery(rawBody, request), shared)
    state.isVerified = true
    state.replayed = true
    state.account = failure.account
    state.secretIndex = secretIndex
    if (shared.drain.isClosed) return state.end(draining())
    const outcome = await handle(state, { rawBody, signedAt, secretIndex, account }, failure)
    // The guard has found it handled, and removed nothing.
    if (outcome.outcome === 'duplicate') await state.failure?.remove()
    return outcome
  }

  async function ownerOf(request: Request | undefined): Promise<Owner> {
    if (failureTerms === undefined)
      throw new TypeError('replay needs the option failures: nothing is kept without it.')
    const [needing] = settings.needRequest
    if (needing !== undefined && request === undefined) {
      throw new TypeError(
        `replay needs a request, because the option ${needing} is a function of it: replay(…, { request }).`,
      )
    }
    if (!settings.needRequest.includes('account')) return { id: undefined, account: undefined }
    const found = { account: undefined as string | undefined }
    const { account } = await settings.signerFor(request as Request, found)
    if (found.account === undefined)
      throw new TypeError('Your account function knows no account for the request given to replay.')
    return { id: found.account, account }
  }

  function isOf({ id }: Owner, failure: Failure): boolean {
    return failure.namespace === namespace && failure.account === id
  }

  function ownedBy({ id }: Owner, { account = id }: ReplayFilter): FailureQuery {
    if (id !== undefined && account !== id) {
      throw new TypeError(
        `An account replays its own failures alone: the request is of ${id}, and account is ${describeValue(account)}.`,
      )
    }
    return id === undefined ? { namespace } : { namespace, account: id }
  }

  async function pageOf(query: FailureQuery, most: number): Promise<readonly Failure[]> {
    const limit = Math.min(most, PAGE)
    const page = await asked(async () => failureTerms?.failures.list({ ...query, limit }))
    if (Array.isArray(page)) return page.map(checkedFailure)
    throw new StoreError(
      'store_misbehaved',
      `The list of the failures returned ${describeType(page)}: see Failures.`,
    )
  }

  return replay as Operations<Request>['replay']
}

/** @throws TypeError: a parameter that a query does not have must not mean every failure */
function checkWhat(what: unknown): void {
  if (typeof what === 'string') return
  if (!isRecord(what)) {
    throw new TypeError(
      `replay needs the key of a failure, or a filter such as { group }, not ${describeType(what)}.`,
    )
  }
  if ('key' in what) throw new TypeError('replay takes the key itself: replay(key), not replay({ key }).')
  for (const [name, value] of Object.entries(what)) {
    if (value === undefined)
      throw new TypeError(
        `${name} is undefined, which would replay every failure: leave it out if that is intended.`,
      )
  }
}

/** @throws StoreError when it is no failure: what is replayed is kept again, in place of the bytes as they were */
function checkedFailure(value: unknown): Failure {
  const { key, namespace, account, rawBody, signedAt, secretIndex } = Object(value) as Readonly<
    Record<keyof Failure, unknown>
  >
  const isFailure =
    typeof key === 'string' &&
    typeof namespace === 'string' &&
    (account === undefined || typeof account === 'string') &&
    rawBody instanceof Uint8Array &&
    signedAt instanceof Date &&
    Number.isInteger(secretIndex)
  if (isFailure) return value as Failure
  throw new StoreError(
    'store_misbehaved',
    'The failures returned something that is no Failure, so it was not replayed: rawBody must be a Uint8Array, signedAt a Date, and the account absent if there is none. See Failures.',
  )
}

const FILTER_NAMES = ['state', 'kind', 'account', 'group', 'limit']

/** Of one call, those that no handler takes included. */
const MOST_SEEN = 1_000

/** Each may have a megabyte. */
const PAGE = 20

/** The answer of the failures, which may be foreign code. */
async function asked<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await within(ask(), STATEMENT_MS, () => {
      throw new StoreError('store_unavailable', `it took longer than ${STATEMENT_MS / 1000} s.`)
    })
  } catch (cause) {
    if (isMisuse(cause)) throw cause
    const message = `The failures could not be read, so nothing was replayed: ${messageOf(redactError(cause))}`
    throw new StoreError('store_unavailable', message, { cause })
  }
}

/** The results in the order of what they are of. */
async function fewAtATime<T, Result>(
  all: readonly T[],
  work: (one: T) => Promise<Result>,
): Promise<readonly Result[]> {
  const results: Result[] = []
  const waiting = [...all.entries()]
  const workers = Array.from({ length: REPLAYS_AT_ONCE }, async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const [index, one] = next
      results[index] = await work(one)
    }
  })
  await Promise.all(workers)
  return results
}
