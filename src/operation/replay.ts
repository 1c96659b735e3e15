import { MAX_TIMER_SECONDS, REPLAYS_AT_ONCE, SETTLING_MS, STORE_CALL_MS } from '../durations.js'
import { codeOf, StoreError, type UnavailableCode, UnavailableError } from '../errors.js'
import { checkEventFilter, checkGroupLimit } from '../ledger/rules.js'
import { isLedger, type KeepsFailures } from '../ledger/store.js'
import { checkKey } from '../lib/check-key.js'
import { describeType, describeValue } from '../lib/describe-type.js'
import { causeOf } from '../lib/errors/read-error.js'
import { checkOptionNames, isPlainObject, isRecord } from '../lib/option-names.js'
import { within } from '../lib/time/alarm-clock.js'
import type { AnyDelivery, AuthenticDelivery } from '../receiver/delivery.js'
import type { Settings } from '../receiver/options/settings.js'
import { draining, type Outcome } from '../receiver/outcome.js'
import { DeliveryState, type Shared } from '../receiver/state.js'
import type { Operations, Replayed, ReplayFilter, ReplayOptions } from './operations.js'
import { type ReplayableEvent, readEvent, readPage } from './read-ledger.js'

/** Takes an authentic delivery to its outcome; never rejects. */
type Handle<Request> = (
  state: DeliveryState<Request>,
  delivery: AuthenticDelivery,
  replayedKey: string,
) => Promise<Outcome>

/** The events that a replay may take, and the account as the user's function returned it. */
interface Scope<Request> {
  readonly backend: KeepsFailures
  readonly id: string | undefined
  readonly account: unknown
  readonly request: Request | undefined
}

const FILTER_NAMES = ['state', 'kind', 'account', 'group', 'limit']

/** The most of one call that are looked at: those that no handler takes are not counted among the replayed. */
const MOST_LISTED = 2_000

/** Each may have a megabyte. */
const PAGE = 20

const FINAL: readonly string[] = ['handled', 'duplicate', 'discarded']

/** Makes `replay()` of a receiver. */
export function replaying<Request>(
  settings: Settings<Request>,
  shared: Shared<Request>,
  handle: Handle<Request>,
): Operations<Request>['replay'] {
  const { namespace } = settings
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
    const event = await readEvent(scope.backend.ledger, key)
    return event !== undefined && isIn(scope, event) ? replayOne(event, scope).answer : undefined
  }

  async function replayMatching(filter: ReplayFilter, scope: Scope<Request>): Promise<readonly Replayed[]> {
    const { limit: given, account = scope.id, ...conditions } = checkOptionNames(filter, FILTER_NAMES)
    let left = checkGroupLimit(given)
    checkEventFilter({ ...conditions, account }, 'groups')
    checkOwn(scope, account)
    const query = { ...conditions, namespace, account, order: 'oldest' } as const
    const replayed: Replayed[] = []
    // Until their runs are over: a handler may outlive its answer.
    const running = new Set<Promise<void>>()
    // By then they are given up.
    const allOver = (): void => running.clear()
    let after: ReplayableEvent | undefined
    for (let listed = 0; left > 0 && listed < MOST_LISTED && !shared.drain.isClosed; ) {
      let page: readonly ReplayableEvent[]
      try {
        page = await readPage(scope.backend.ledger, { ...query, after, limit: Math.min(left, PAGE) })
      } catch (error) {
        // Once some have run, their outcomes must not be lost: a further call begins with the rest.
        if (replayed.length === 0) throw error
        break
      }
      const last = page.at(-1)
      // The end, or a foreign list that ignores the position.
      if (last === undefined || last.key === after?.key) break
      after = last
      listed += page.length
      const answers: Promise<Replayed>[] = []
      for (const event of page.filter((one) => isIn(scope, one))) {
        while (running.size >= REPLAYS_AT_ONCE) await within(Promise.race(running), longestMs, allOver)
        const { answer, over } = replayOne(event, scope)
        answers.push(answer.then((outcome) => ({ key: event.key, ...outcome })))
        running.add(over)
        void over.then(() => running.delete(over))
      }
      const outcomes = await Promise.all(answers)
      replayed.push(...outcomes)
      // One that no handler takes must not keep the others from their turn.
      left -= outcomes.filter(({ outcome }) => outcome !== 'unhandled').length
    }
    return replayed
  }

  function replayOne(
    event: ReplayableEvent,
    scope: Scope<Request>,
  ): { answer: Promise<Outcome>; over: Promise<void> } {
    const state = new DeliveryState(replayedDelivery(event.rawBody, scope.request), shared)
    const answer = answerOf(event, scope, state)
    return { answer, over: answer.then(() => state.whenOver()) }
  }

  async function answerOf(
    event: ReplayableEvent,
    { account, backend }: Scope<Request>,
    state: DeliveryState<Request>,
  ): Promise<Outcome> {
    const { key, rawBody, signedAt, secretIndex, failure } = event
    state.isVerified = true
    state.replay = { seen: failure.count + failure.replays }
    state.account = event.account
    state.secretIndex = secretIndex
    if (shared.drain.isClosed) return state.end(draining())
    const outcome = await handle(state, { rawBody, signedAt, secretIndex, account }, key)
    // A key of bytes, whose event has one of its own by now.
    if (FINAL.includes(outcome.outcome) && state.key !== key) {
      const forgetting = Promise.resolve().then(() => backend.forget(key))
      const tooLate = (): never => {
        throw new StoreError('store_unavailable', "The ledger's forget took too long.")
      }
      await within(forgetting, STORE_CALL_MS, tooLate).catch((error) => state.report(error))
    }
    return outcome
  }

  async function scopeOf(request: Request | undefined): Promise<Scope<Request>> {
    const [needing] = settings.needRequest
    if (needing !== undefined && request === undefined) {
      throw new TypeError(
        `replay needs a request, because the option ${needing} is a function of it: replay(…, { request }).`,
      )
    }
    const backend = await within(
      Promise.resolve(settings.backendFor(request as Request)),
      STORE_CALL_MS,
      tooSlow('store_unavailable', 'store or inbox'),
    )
    if (!isLedger(backend)) {
      throw new TypeError(
        'replay needs a ledger, which keeps events that were not handled: a store or an inbox on Postgres, MySQL, SQLite, D1 or Durable Objects, or memoryStore().',
      )
    }
    if (!settings.needRequest.includes('account')) {
      return { backend, id: undefined, account: undefined, request }
    }
    const found = { account: undefined as string | undefined }
    const finding = Promise.resolve(settings.signerFor(request as Request, found)).catch(rethrowForReplay)
    const { account } = await within(finding, settings.timeoutMs, tooSlow('account_unavailable', 'account'))
    if (found.account === undefined)
      throw new TypeError('Your account function knows no account for the request given to replay.')
    return { backend, id: found.account, account, request }
  }

  function isIn({ id }: Scope<Request>, event: ReplayableEvent): boolean {
    const prefix = id === undefined ? `${namespace}/` : `${namespace}/${id}/`
    return event.namespace === namespace && event.account === id && event.key.startsWith(prefix)
  }

  return replay as Operations<Request>['replay']
}

function checkOwn({ id }: Scope<unknown>, account: string | undefined): void {
  if (id === undefined || account === id) return
  throw new TypeError(
    `An account replays its own events alone: the request is of ${id}, and account is ${describeValue(account)}.`,
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
      `replay needs the key of an event, or a filter such as { group }, not ${describeType(what)}.`,
    )
  }
  if ('key' in what) throw new TypeError('replay takes the key itself: replay(key), not replay({ key }).')
  checkPlain('the filter of replay', what, '{} for every event')
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

function tooSlow(code: UnavailableCode, what: string): () => never {
  return () => {
    throw new UnavailableError(code, `Your ${what} function took too long: nothing was replayed.`)
  }
}

/** The delivery of a replay, whose request may be missing: only reading it throws. */
function replayedDelivery<Request>(rawBody: Uint8Array, request: Request | undefined): AnyDelivery<Request> {
  return {
    header: undefined,
    body: rawBody,
    hasRequest: request !== undefined,
    get request(): Request {
      if (request !== undefined) return request
      throw new TypeError(
        'This is a replay without a request: pass one, replay(…, { request }), or look at ctx.replayed first.',
      )
    },
  }
}
