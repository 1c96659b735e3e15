import { MAX_TIMER_SECONDS, REPLAYS_AT_ONCE, SETTLING_MS } from '../durations.js'
import { codeOf, UnavailableError } from '../errors.js'
import type { Failure, Failures } from '../ledger/failures/failures.js'
import { checkFailureFilter, checkFailureLimit } from '../ledger/failures/rules.js'
import { checkKey } from '../lib/check-key.js'
import { describeType, describeValue } from '../lib/describe-type.js'
import { causeOf } from '../lib/errors/message-of.js'
import { checkOptionNames, isPlainObject, isRecord } from '../lib/option-names.js'
import { within } from '../lib/time/alarm-clock.js'
import type { AuthenticDelivery } from '../receiver/delivery.js'
import type { Settings } from '../receiver/options/settings.js'
import { draining, type Outcome } from '../receiver/outcome.js'
import { DeliveryState, type Shared } from '../receiver/state.js'
import type { Operations, Replayed, ReplayFilter, ReplayOptions } from './operations.js'
import { readFailure, readPage } from './read-failures.js'
import { replayedDelivery } from './replayed-delivery.js'

/** Takes an authentic delivery to its outcome; never rejects. */
type Handle<Request> = (
  state: DeliveryState<Request>,
  delivery: AuthenticDelivery,
  replayed: Failure,
) => Promise<Outcome>

/** The failures that a replay may take, and the account as the user's function returned it. */
interface Scope<Request> {
  readonly failures: Failures
  readonly id: string | undefined
  readonly account: unknown
  readonly request: Request | undefined
}

const FILTER_NAMES = ['state', 'kind', 'account', 'group', 'limit']

/** The most of one call that are looked at: those that no handler takes, and those that fail again, which are listed again, included. */
const MOST_LISTED = 2_000

/** Each may have a megabyte. */
const PAGE = 20

/** Makes `replay()` of a receiver. */
export function replaying<Request>(
  settings: Settings<Request>,
  shared: Shared<Request>,
  handle: Handle<Request>,
): Operations<Request>['replay'] {
  const { failureTerms, namespace } = settings
  const longestMs = Math.min(settings.maxRunMs + SETTLING_MS, MAX_TIMER_SECONDS * 1000)

  async function replay(what: string | ReplayFilter, options?: ReplayOptions<Request>): Promise<unknown> {
    const given = options ?? {}
    checkPlain('the second argument of replay', given, '{ request }')
    const { request } = checkOptionNames(given, ['request'])
    checkWhat(what)
    const scope = await scopeOf(request)
    return typeof what === 'string' ? replayKey(what, scope) : replayMatching(what, scope)
  }

  async function replayKey(key: string, scope: Scope<Request>): Promise<Outcome | undefined> {
    const failure = await readFailure(scope.failures, key)
    return failure !== undefined && isIn(scope, failure) ? replayOne(failure, scope).answer : undefined
  }

  async function replayMatching(filter: ReplayFilter, scope: Scope<Request>): Promise<readonly Replayed[]> {
    const { limit: given, account = scope.id, ...conditions } = checkOptionNames(filter, FILTER_NAMES)
    const limit = checkFailureLimit(given)
    checkFailureFilter({ ...conditions, account })
    checkOwn(scope, account)
    const query = {
      ...conditions,
      namespace,
      ...(account === undefined ? {} : { account }),
      order: 'oldest',
    } as const
    const replayed: Replayed[] = []
    const seen = new Set<string>()
    // Until their runs are over: a handler may outlive its answer.
    const running = new Set<Promise<void>>()
    // By then they are given up.
    const allOver = (): void => running.clear()
    let after: Failure | undefined
    let listed = 0
    // A failure that no handler takes stays the oldest, and must not keep the others from their turn.
    let left = limit
    while (left > 0 && listed < MOST_LISTED) {
      const reading = readPage(scope.failures, { ...query, after, limit: Math.min(left, PAGE) })
      // Once some have run, their outcomes must not be lost with the rest of the list.
      const page = await (after === undefined ? reading : reading.catch(() => []))
      const last = page.at(-1)
      // The end, or a foreign list that ignores the position.
      if (last === undefined || isSamePlace(last, after)) break
      after = last
      listed += page.length
      const unseen: Failure[] = []
      for (const failure of page) {
        // One that fails again is listed again, as the latest.
        if (seen.has(failure.key) || unseen.length === left || !isIn(scope, failure)) continue
        seen.add(failure.key)
        unseen.push(failure)
      }
      const answers: Promise<Replayed>[] = []
      for (const failure of unseen) {
        while (running.size >= REPLAYS_AT_ONCE) await within(Promise.race(running), longestMs, allOver)
        const { answer, over } = replayOne(failure, scope)
        answers.push(answer.then((outcome) => ({ key: failure.key, ...outcome })))
        running.add(over)
        void over.then(() => running.delete(over))
      }
      const outcomes = await Promise.all(answers)
      replayed.push(...outcomes)
      left -= outcomes.filter(({ outcome }) => outcome !== 'unhandled').length
      if (shared.drain.isClosed) break
    }
    return replayed
  }

  function replayOne(
    failure: Failure,
    scope: Scope<Request>,
  ): { answer: Promise<Outcome>; over: Promise<void> } {
    const state = new DeliveryState(replayedDelivery(failure.rawBody, scope.request), shared)
    const answer = answerOf(failure, scope, state)
    return { answer, over: answer.then(() => state.whenOver()) }
  }

  async function answerOf(
    failure: Failure,
    { account }: Scope<Request>,
    state: DeliveryState<Request>,
  ): Promise<Outcome> {
    const { rawBody, signedAt, secretIndex } = failure
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

  async function scopeOf(request: Request | undefined): Promise<Scope<Request>> {
    if (failureTerms === undefined)
      throw new TypeError('replay needs the option failures: nothing is kept without it.')
    const { failures } = failureTerms
    const [needing] = settings.needRequest
    if (needing !== undefined && request === undefined) {
      throw new TypeError(
        `replay needs a request, because the option ${needing} is a function of it: replay(…, { request }).`,
      )
    }
    if (!settings.needRequest.includes('account')) {
      return { failures, id: undefined, account: undefined, request }
    }
    const found = { account: undefined as string | undefined }
    const finding = Promise.resolve(settings.signerFor(request as Request, found)).catch(rethrowForReplay)
    const { account } = await within(finding, settings.timeoutMs, tookTooLong)
    if (found.account === undefined)
      throw new TypeError('Your account function knows no account for the request given to replay.')
    return { failures, id: found.account, account, request }
  }

  function isIn({ id }: Scope<Request>, failure: Failure): boolean {
    const prefix = id === undefined ? `${namespace}/` : `${namespace}/${id}/`
    return failure.namespace === namespace && failure.account === id && failure.key.startsWith(prefix)
  }

  return replay as Operations<Request>['replay']
}

function checkOwn({ id }: Scope<unknown>, account: string | undefined): void {
  if (id === undefined || account === id) return
  throw new TypeError(
    `An account replays its own failures alone: the request is of ${id}, and account is ${describeValue(account)}.`,
  )
}

/** @throws TypeError: a parameter that a query does not have must not mean every failure */
function checkWhat(what: unknown): void {
  if (typeof what === 'string') {
    checkKey(what)
    return
  }
  if (!isRecord(what)) {
    throw new TypeError(
      `replay needs the key of a failure, or a filter such as { group }, not ${describeType(what)}.`,
    )
  }
  if ('key' in what) throw new TypeError('replay takes the key itself: replay(key), not replay({ key }).')
  checkPlain('the filter of replay', what, '{} for every failure')
  for (const [name, value] of Object.entries(what)) {
    if (value === undefined)
      throw new TypeError(
        `${name} is undefined, which would not narrow the replay: leave it out if that is intended.`,
      )
  }
}

/** A request, a date or an error has no fields of its own, and would read as an empty object. */
function checkPlain(name: string, given: object, wanted: string): void {
  if (Object.keys(given).length > 0 || isPlainObject(given)) return
  throw new TypeError(`${name} must be a plain object, ${wanted}, not ${describeType(given)}.`)
}

/** The message of a delivery says that the sender retries. */
function rethrowForReplay(error: unknown): never {
  if (codeOf(error) !== 'account_unavailable') throw error
  throw new UnavailableError('account_unavailable', 'Your account function failed: nothing was replayed.', {
    cause: causeOf(error),
  })
}

function tookTooLong(): never {
  throw new UnavailableError(
    'account_unavailable',
    'Your account function took too long: nothing was replayed.',
  )
}

function isSamePlace(one: Failure, other: Failure | undefined): boolean {
  return one.key === other?.key && one.lastAt.getTime() === other.lastAt.getTime()
}
