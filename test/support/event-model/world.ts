import type { EventRecord, KeepsFailures, LedgerInbox, LedgerStore } from 'tix-webhooks'
import { deferred } from '../promises.js'
import type { Known } from './model.js'

/** A ledger: a store or an inbox. */
export interface World {
  readonly backend: { readonly store: LedgerStore } | { readonly inbox: LedgerInbox<never> }
  /** Whether two handlers of an event may run at the same time in an inbox, of which one is committed. */
  readonly overlaps?: boolean
  /** The effect of a handler: through its transaction, if there is one. */
  effect(tx: unknown, effect: string): unknown
  effects(): Promise<readonly string[]>
  /** Makes time pass for all events. */
  advance(ms: number): Promise<void>
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
export function seenBy(life: Life, { backend }: World) {
  const { call } = life
  const kept = (ledger: KeepsFailures): KeepsFailures => ({
    keep: (failed) => call(() => ledger.keep(failed)),
    forget: (key) => call(() => ledger.forget(key)),
    ledger: {
      ...ledger.ledger,
      get: (key) => call(() => ledger.ledger.get(key)),
      list: (query) => call(() => ledger.ledger.list(query)),
    },
  })
  if ('inbox' in backend) {
    const { inbox } = backend
    const once: LedgerInbox<never>['once'] = (request, work) =>
      call(() =>
        inbox.once(request, async (tx, run) => {
          // The process may die in its transaction, which is then rolled back.
          life.step()
          await work(tx, run)
          life.step()
        }),
      )
    return { inbox: { once, ...kept(inbox) } satisfies LedgerInbox<never> }
  }
  const { store } = backend
  const seen: LedgerStore = {
    ...(store.isVolatile === undefined ? {} : { isVolatile: store.isVolatile }),
    claim: (request) => call(() => store.claim(request)),
    renew: (lease, leaseMs) => call(() => store.renew(lease, leaseMs)),
    complete: (lease, ...rest) => call(() => store.complete(lease, ...rest)),
    release: (lease) => call(() => store.release(lease)),
    fail: (lease, failed) => call(() => store.fail(lease, failed)),
    ...kept(store),
  }
  return { store: seen }
}

/** What a check compares: nothing of an event that is neither handled nor failed. */
export function knownOf(event: EventRecord | undefined): Known | undefined {
  if (event === undefined || event.state === 'running' || event.state === 'pending') return undefined
  const { state, failure } = event
  if (failure === undefined) return { state }
  const { count, replays, code } = failure
  return { state, count, replays, code, body: new TextDecoder().decode(event.rawBody) }
}
