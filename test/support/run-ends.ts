import { Discard, memoryStore, RetryLater, type WebhookOptions } from 'tix-webhooks'
import { vi } from 'vitest'
import { honestInbox } from './honest-inbox.js'
import { never } from './promises.js'
import { storeWith } from './receiving.js'
import { hangingAfterWork, type OnceScript, saying, scriptedInbox } from './scripted-inbox.js'
import { sleep } from './virtual-time.js'

/** For a receiver with the ends below. */
export const TIMES = { timeoutSeconds: 10, maxRunSeconds: 20 }

/** When a place is free, though the end of its run never came: both times, and that of recording an end. */
export const OVERDUE_SECONDS = 10 + 20 + 46

const throwing = (error: unknown) => () => {
  throw error
}

/** A store whose first call of this method meets this. */
function storeFailing(method: 'claim' | 'renew' | 'complete' | 'release', first: () => unknown) {
  const base = memoryStore()
  const calls: (() => unknown)[] = [first]
  const { store, namespace } = storeWith(
    {
      [method]: (...args: unknown[]) =>
        calls.length > 0 ? calls.shift()?.() : (base[method] as (...args: unknown[]) => unknown)(...args),
    },
    base,
  )
  return { store, namespace }
}

/** An inbox whose first transaction meets this. */
function inboxFailing(first: OnceScript) {
  const { inbox: honest } = honestInbox()
  const scripts: OnceScript[] = [first]
  const { inbox } = scriptedInbox((request, work) => (scripts.shift() ?? honest.once)(request, work))
  return { inbox, namespace: 'test' } as unknown as Partial<WebhookOptions>
}

/** A way in which the first delivery to a receiver ends; its later ones end well. */
export interface RunEnd {
  readonly name: string
  readonly options?: () => Partial<WebhookOptions>
  /** The handler. */
  readonly hold?: () => unknown
  readonly outcome: string
  /** The time from the arrival until its place is free, in seconds; 0 if nothing is waited for. */
  readonly free: number
}

export const RUN_ENDS: readonly RunEnd[] = [
  { name: 'a handler that returns', outcome: 'handled', free: 0 },
  { name: 'one that throws', hold: throwing(new Error('no')), outcome: 'failed', free: 0 },
  { name: 'one that rejects', hold: () => Promise.reject(new Error('no')), outcome: 'failed', free: 0 },
  { name: 'one that discards', hold: throwing(new Discard()), outcome: 'discarded', free: 0 },
  {
    name: 'one that asks for a retry',
    hold: throwing(new RetryLater({ afterSeconds: 9 })),
    outcome: 'retry_later',
    free: 0,
  },
  { name: 'one that settles later', hold: () => sleep(3), outcome: 'handled', free: 3 },
  { name: 'one that outlives its answer', hold: () => sleep(12), outcome: 'timed_out', free: 12 },
  { name: 'one that is given up, and settles', hold: () => sleep(25), outcome: 'timed_out', free: 25 },
  {
    name: 'one that is given up, and never settles',
    hold: () => never(),
    outcome: 'timed_out',
    free: OVERDUE_SECONDS,
  },
  { name: 'an event without a key', options: () => ({ key: () => null }), outcome: 'handled', free: 0 },
  {
    name: 'a slow one without a key',
    options: () => ({ key: () => null }),
    hold: () => sleep(12),
    outcome: 'timed_out',
    free: 12,
  },
  ...(['completed', 'in_flight'] as const).map((status) => ({
    name: `an event that the store says is ${status}`,
    options: () => storeFailing('claim', async () => ({ status, retryAfterMs: 1_000 })),
    outcome: status === 'completed' ? 'duplicate' : 'in_flight',
    free: 0,
  })),
  ...(['claim', 'complete'] as const).flatMap((method): RunEnd[] => [
    {
      name: `a store that throws at ${method}`,
      options: () => storeFailing(method, throwing(new Error('down'))),
      outcome: method === 'claim' ? 'unavailable' : 'handled',
      // A completion is tried again after 200 ms.
      free: method === 'claim' ? 0 : 0.2,
    },
    {
      name: `a store that answers nonsense at ${method}`,
      options: () => storeFailing(method, () => 'yes'),
      outcome: method === 'claim' ? 'unavailable' : 'handled',
      free: 0,
    },
    {
      name: `a store that hangs at ${method}`,
      options: () => storeFailing(method, () => never()),
      outcome: method === 'claim' ? 'unavailable' : 'handled',
      free: method === 'claim' ? 2 : 2.2,
    },
  ]),
  {
    name: 'a store that blocks the process for longer than its lease',
    options: () => ({
      leaseSeconds: 3,
      ...storeFailing('claim', () => {
        vi.advanceTimersByTime(4_000)
        return { status: 'claimed', attempt: 1 }
      }),
    }),
    outcome: 'unavailable',
    free: 0,
  },
  {
    name: 'a store that hangs at release',
    options: () => storeFailing('release', () => never()),
    hold: throwing(new Error('no')),
    outcome: 'failed',
    free: 2.2,
  },
  ...(['hangs', 'throws', 'says that the lease is lost'] as const).map((how) => ({
    name: `a store that ${how} at renew`,
    options: () => ({
      leaseSeconds: 3,
      ...storeFailing('renew', () =>
        how === 'hangs' ? never() : how === 'throws' ? Promise.reject(new Error('down')) : false,
      ),
    }),
    hold: () => sleep(8),
    outcome: 'handled',
    free: 8,
  })),
  ...(
    [
      ['true', () => true, 'duplicate', 0],
      ['false', () => false, 'handled', 0],
      ['an outage', () => Promise.reject(new Error('down')), 'unavailable', 0],
      ['nonsense', () => 'yes' as never, 'misconfigured', 0],
      ['nothing before the deadline', () => sleep(12).then(() => false), 'timed_out', 12],
      ['nothing at all', () => never<boolean>(), 'timed_out', OVERDUE_SECONDS],
    ] as const
  ).map(([what, first, outcome, free]) => ({
    name: `handledBefore that answers ${what}`,
    options: () => {
      const answers: (() => boolean | Promise<boolean>)[] = [first]
      return { handledBefore: () => (answers.shift() ?? (() => false))() }
    },
    outcome,
    free,
  })),
  { name: 'an inbox', options: () => inboxFailing(saying('handled')), outcome: 'handled', free: 0 },
  ...(['duplicate', 'in_flight'] as const).map((status) => ({
    name: `an inbox that says ${status}`,
    options: () => inboxFailing(async () => ({ status })),
    outcome: status,
    free: 0,
  })),
  {
    name: 'an inbox that throws',
    options: () => inboxFailing(throwing(new Error('down'))),
    outcome: 'unavailable',
    free: 0,
  },
  {
    name: 'an inbox that answers nonsense',
    options: () => inboxFailing(() => 'done'),
    outcome: 'unavailable',
    free: 0,
  },
  {
    name: 'an inbox that opens its transaction after the deadline',
    options: () => inboxFailing((_, work) => sleep(12).then(() => work(0))),
    outcome: 'unavailable',
    free: 12,
  },
  {
    name: 'an inbox that never opens it',
    options: () => inboxFailing(() => never()),
    outcome: 'unavailable',
    free: OVERDUE_SECONDS,
  },
  {
    name: 'an inbox that commits after the answer',
    options: () =>
      inboxFailing(async (_, work) => {
        await work(undefined)
        await sleep(15)
        return { status: 'handled' }
      }),
    outcome: 'unavailable',
    free: 15,
  },
  {
    name: 'an inbox that never commits',
    options: () => inboxFailing(hangingAfterWork),
    outcome: 'unavailable',
    free: OVERDUE_SECONDS,
  },
  {
    name: 'an inbox that rolls back for a while a run that was given up',
    options: () =>
      inboxFailing(async (_, work) => {
        await work(undefined).catch(() => sleep(4))
        throw new Error('rolled back')
      }),
    hold: () => never(),
    outcome: 'timed_out',
    free: 24,
  },
  {
    name: 'a handler that goes on after its transaction was rolled back, because it was given up',
    options: () => inboxFailing(honestInbox().inbox.once as OnceScript),
    hold: () => sleep(27),
    outcome: 'timed_out',
    free: 20,
  },
  {
    name: 'an inbox that loses its connection while the handler runs',
    options: () =>
      inboxFailing(async (_, work) => {
        void work(undefined)
        await sleep(1)
        throw new Error('connection lost')
      }),
    hold: () => sleep(8),
    outcome: 'unavailable',
    free: 8,
  },
]
