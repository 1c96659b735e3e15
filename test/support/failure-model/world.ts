import type {
  Failure,
  Failures,
  HandledRecords,
  IdempotencyStore,
  Inbox,
  JoinedInbox,
  KeptFailures,
} from 'tix-webhooks'

import { deferred } from '../promises.js'

/** Where events are recorded as handled, and what was not handled is kept. */
export interface World {
  readonly failures: KeptFailures
  readonly records: HandledRecords
  readonly guard: { readonly store: IdempotencyStore } | { readonly inbox: Inbox<never> }
  /** Whether the failure is removed in the transaction that records the event as handled. */
  readonly isJoined: boolean
  /** Whether two handlers of an event may run at the same time in an inbox, of which one is committed. */
  readonly overlaps?: boolean
  /** The effect of a handler: through its transaction, if there is one. */
  effect(tx: unknown, effect: string): unknown
  effects(): Promise<readonly string[]>
  /** Ends the leases of processes that are dead. */
  endLeases(): Promise<void>
  close(): Promise<void>
}

export class Dead extends Error {
  override readonly message = 'the process is dead'
}

/** The life of a process. A dead one reaches no backend any more. */
export class Life {
  hasDied = false
  private steps = 0
  private readonly sent: Promise<unknown>[] = []
  private readonly died = deferred()
  /** Resolves when it dies. */
  readonly death: Promise<void> = this.died.promise

  /**
   * @param endsAt the step of its calls at which it dies; none if absent
   * @param survives whether it only loses that call, or its answer
   */
  constructor(
    private readonly endsAt = Number.POSITIVE_INFINITY,
    private readonly survives = false,
  ) {}

  /** Whether it has come to the step at which it dies, or loses a call. */
  get wasCut(): boolean {
    return this.steps > this.endsAt
  }

  /** @throws Dead */
  step(): void {
    if (this.steps++ === this.endsAt) {
      if (this.survives) throw new Error('connection reset')
      this.hasDied = true
      this.died.resolve()
    }
    if (this.hasDied) throw new Dead()
  }

  /** A call that the process may die before, or after, without its result. */
  readonly call = async <T>(send: () => T | Promise<T>): Promise<T> => {
    this.step()
    const sent = Promise.resolve(send())
    this.sent.push(sent)
    const answer = await sent
    this.step()
    return answer
  }

  /** Resolves when what it has sent is over: a transaction is rolled back then. */
  async calls(): Promise<void> {
    await Promise.allSettled(this.sent)
  }
}

/** The world as one process sees it. */
export function seenBy(life: Life, { guard, failures }: World, isBroken: () => boolean) {
  const { call } = life
  const asked = <T>(send: () => Promise<T>): Promise<T> =>
    call(() => {
      if (isBroken()) throw new Error('the failures are down')
      return send()
    })
  const seen: Failures = {
    ...failures,
    keep: (failed) => asked(() => failures.keep(failed)),
    get: (key) => asked(() => failures.get(key)),
    delete: (key) => asked(() => failures.delete(key)),
    list: (query) => asked(() => failures.list(query)),
  }
  if ('store' in guard) return { failures: seen, store: seenStore(guard.store, life) }
  const { inbox } = guard
  return {
    failures: seen,
    inbox: {
      once: (request, work) => call(() => inbox.once(request, workOf(life, work))),
      joinFailures() {
        const joined = inbox.joinFailures?.(failures)
        if (joined === undefined) return undefined
        return {
          once: (request, work) => call(() => joined.once(request, workOf(life, work))),
          keep: (failed) => asked(() => joined.keep(failed)),
        } satisfies JoinedInbox<never>
      },
    } satisfies Inbox<never>,
  }
}

/** The process may die in its transaction, which is then rolled back. */
function workOf(life: Life, work: (tx: never) => Promise<void>): (tx: never) => Promise<void> {
  return async (tx) => {
    life.step()
    await work(tx)
    life.step()
  }
}

function seenStore(store: IdempotencyStore, { call }: Life): IdempotencyStore {
  return {
    ...(store.isVolatile === undefined ? {} : { isVolatile: store.isVolatile }),
    claim: (request) => call(() => store.claim(request)),
    renew: (lease, leaseMs) => call(() => store.renew(lease, leaseMs)),
    complete: (lease, retainMs) => call(() => store.complete(lease, retainMs)),
    release: (lease) => call(() => store.release(lease)),
  }
}

/** The parts of a failure that a check compares. */
export function factsOf(failure: Failure) {
  const { state, attempts, replays, code, firstAt, lastAt, lastReplayedAt, rawBody } = failure
  return {
    state,
    attempts,
    replays,
    code,
    firstAt,
    lastAt,
    lastReplayedAt,
    body: new TextDecoder().decode(rawBody),
  }
}
