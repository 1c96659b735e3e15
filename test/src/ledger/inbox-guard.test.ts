import { AsyncLocalStorage } from 'node:async_hooks'
import {
  answerTo,
  Discard,
  type FailedDelivery,
  type HandlerContext,
  type Inbox,
  RetryLater,
  StoreError,
} from 'tix-webhooks'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { orderCreated, sign } from '../../support/deliveries.js'
import { BOOM, REFUSED, refused, throwing } from '../../support/delivering.js'
import { ALL_WELL, honestInbox, type Ledger } from '../../support/honest-inbox.js'
import { deferred, never, watch } from '../../support/promises.js'
import { SOON } from '../../support/retry-after.js'
import {
  failingWith,
  hangingAfterWork,
  type OnceScript,
  receivingWith,
  returning,
  saying,
  scriptedInbox,
} from '../../support/scripted-inbox.js'
import { advance, sleep, useVirtualTime } from '../../support/virtual-time.js'

useVirtualTime()

afterEach(() => {
  vi.restoreAllMocks()
})

type Context = HandlerContext<unknown, Ledger>
const WEEK_MS = 604_800_000
const UNAVAILABLE = { outcome: 'unavailable', code: 'store_unavailable', retryAfterSeconds: SOON }

describe('the handler', () => {
  test('gets the very transaction, its key, and no attempt', async () => {
    const tx = { query: () => {} }
    const { inbox, requests } = scriptedInbox(async (_, work) => {
      await work(tx)
      return { status: 'handled' }
    })
    const contexts: HandlerContext[] = []
    const { send } = receivingWith(inbox, {
      retentionSeconds: 300_000,
      on: { 'order.created': (_, ctx) => contexts.push(ctx) },
    })
    await send(orderCreated({ id: 'ord_1' }))
    expect(contexts).toMatchObject([{ key: 'test/order.created/ord_1', deduplicated: true }])
    expect(contexts[0]?.tx).toBe(tx)
    expect(contexts[0]).not.toHaveProperty('attempt')
    expect(requests).toEqual([{ key: 'test/order.created/ord_1', retainMs: 300_000_000, maxRunMs: 300_000 }])
  })

  test('runs in a plain transaction if the key is null, and sees that it is not deduplicated', async () => {
    const { inbox: honest, effects } = honestInbox()
    const { inbox, requests } = scriptedInbox((request, work) => honest.once(request, work))
    const contexts: Context[] = []
    const { send, records } = receivingWith(inbox as Inbox<Ledger>, {
      key: () => null,
      on: {
        'order.created': (_, ctx) => {
          contexts.push(ctx)
          ctx.tx.write('tickets')
        },
      },
    })
    const order = orderCreated()
    expect(await send(order)).toEqual({ outcome: 'handled' })
    expect(await send(order)).toEqual({ outcome: 'handled' })
    expect(contexts).toMatchObject([
      { key: null, deduplicated: false },
      { key: null, deduplicated: false },
    ])
    expect(contexts[0]).not.toHaveProperty('attempt')
    expect(requests[0]).toEqual({ key: null, retainMs: WEEK_MS, maxRunMs: 300_000 })
    expect(effects).toEqual(['tickets', 'tickets'])
    for (const record of records) expect(record).not.toHaveProperty('key')
  })

  test('has the asynchronous context of the transaction, and within it that of the request', async () => {
    const transaction = new AsyncLocalStorage<string>()
    const request = new AsyncLocalStorage<string>()
    const { inbox } = scriptedInbox(async (_, work) => {
      await someTurns()
      await transaction.run('tx 1', () => work({}))
      return { status: 'handled' }
    })
    const seen: unknown[] = []
    const { send } = receivingWith(inbox, {
      on: {
        'order.created': async () => {
          seen.push(transaction.getStore(), request.getStore())
          await someTurns()
          seen.push(transaction.getStore(), request.getStore())
        },
      },
    })
    await request.run('request 1', () => send(orderCreated()))
    expect(seen).toEqual(['tx 1', 'request 1', 'tx 1', 'request 1'])
  })
})

/** Some turns of the microtask queue. */
async function someTurns(): Promise<void> {
  for (let i = 0; i < 5; i++) await null
}

test('a commit that takes its time is waited for until the deadline: then it is unavailable, not 200, and goes on', async () => {
  const { inbox, effects } = honestInbox({ fates: [{ ...ALL_WELL, commitTakes: 15 }] })
  const { receiver, send, records, reports } = receivingWith(inbox, {
    on: { 'order.created': (_, { tx }) => tx.write('tickets') },
  })
  const kept: Promise<unknown>[] = []
  const waitUntil = (promise: Promise<unknown>) => kept.push(promise)
  const order = orderCreated()
  const outcome = receiver.receive({ ...(await sign(order)), request: null, waitUntil })
  await advance(9.9)
  expect(records).toEqual([])
  await advance(0.1)
  expect(await outcome).toMatchObject({
    ...UNAVAILABLE,
    error: { message: expect.stringMatching(/not confirmed the commit/) },
  })
  // The first is the delivery itself.
  expect(kept).toHaveLength(2)
  expect(records).toMatchObject([{ outcome: 'unavailable', status: 503, code: 'store_unavailable' }])

  await advance(5)
  expect(await kept[1]).toEqual({ outcome: 'handled' })
  expect(effects).toEqual(['tickets'])
  expect(await send(order)).toEqual({ outcome: 'duplicate' })
  expect(reports).toHaveLength(1)
})

const fails = async (): Promise<never> => {
  throw BOOM
}

describe('an inbox that breaks its contract', () => {
  test.each<[how: string, once: OnceScript]>([
    [
      'one after the other',
      async (_, work) => {
        await work(1)
        await work(2)
        return { status: 'handled' }
      },
    ],
    [
      'at once',
      async (_, work) => {
        await Promise.all([work(1), work(2)])
        return { status: 'handled' }
      },
    ],
    [
      'again after it failed',
      async (_, work) => {
        await work(1).catch(() => work(2))
        return { status: 'handled' }
      },
    ],
  ])(
    'and calls its work twice, %s, runs the handler once, is never 200 and leaves nothing open',
    async (_, once) => {
      const { inbox, ends } = scriptedInbox(once)
      const handler = vi.fn(how(_))
      const { send, receiver } = receivingWith(inbox, { on: { 'order.created': handler } })
      const outcome = send(orderCreated())
      await advance(40)
      expect(handler).toHaveBeenCalledOnce()
      expect(answerTo(await outcome).status).not.toBe(200)
      expect(ends).toHaveLength(2)
      expect(ends).not.toContain('open')
      await receiver.drain()
    },
  )

  function how(name: string): () => unknown {
    return name === 'again after it failed' ? fails : () => {}
  }
})

describe('a transaction that is not open by the deadline', () => {
  test('is unavailable at the deadline; when it opens, it is rolled back and no handler runs', async () => {
    const {
      inbox: honest,
      effects,
      records: kept,
    } = honestInbox({ fates: [{ ...ALL_WELL, opensAfter: 12 }] })
    const { inbox, ends } = scriptedInbox((request, work) => honest.once(request, work))
    const handler = vi.fn()
    const { send, records, reports } = receivingWith(inbox, { on: { 'order.created': handler } })
    const outcome = send(orderCreated())
    await advance(10)
    expect(await outcome).toMatchObject({
      ...UNAVAILABLE,
      error: { message: expect.stringMatching(/pool of connections too small/) },
    })
    expect(records).toMatchObject([{ outcome: 'unavailable', durationMs: 10_000 }])
    expect(reports).toHaveLength(1)

    await advance(2)
    expect(ends).toEqual([{ rejected: expect.objectContaining({ code: 'store_unavailable' }) }])
    expect(handler).not.toHaveBeenCalled()
    expect(effects).toEqual([])
    expect(kept.size).toBe(0)
    expect(reports).toHaveLength(1)
  })

  test('because the event loop was blocked is rolled back, and no handler runs', async () => {
    const { inbox, ends } = scriptedInbox((_, work) => {
      blockFor(11)
      return work({})
    })
    const handler = vi.fn()
    const { send } = receivingWith(inbox, { on: { 'order.created': handler } })
    expect(await send(orderCreated())).toMatchObject(UNAVAILABLE)
    expect(handler).not.toHaveBeenCalled()
    expect(ends).toEqual([{ rejected: expect.objectContaining({ code: 'store_unavailable' }) }])
  })
})

test('a handler that is slower than the deadline is given up after maxRunSeconds: its signal aborts, a drain goes on, and what it wrote is rolled back', async () => {
  let signal: AbortSignal | undefined
  const work = deferred()
  const { inbox, effects } = honestInbox()
  const { send, receiver, reports } = receivingWith(inbox, {
    maxRunSeconds: 30,
    on: {
      'order.created': async (_, ctx) => {
        signal = ctx.signal
        await work.promise
        ctx.tx.write('tickets')
      },
    },
  })
  const order = orderCreated()
  const first = send(order)
  await advance(10)
  await first
  const drain = receiver.drain()
  const drained = watch(drain)
  await advance(19.9)
  expect(drained.isResolved).toBe(false)
  expect(signal?.aborted).toBe(false)
  await advance(0.1)
  await drain
  expect(signal?.aborted).toBe(true)
  expect(reports.map(({ error }) => error.code)).toEqual(['timed_out', 'given_up'])

  work.resolve()
  await advance(0)
  expect(effects).toEqual([])
  // The handler learns that its transaction is over.
  expect(reports.map(({ error }) => error.message).at(-1)).toMatch(/transaction is over/)
  expect(await receivingWith(inbox, { on: { 'order.created': () => {} } }).send(order)).toEqual({
    outcome: 'handled',
  })
})

/** The clock advances and no timer fires, as when the thread is blocked. */
function blockFor(seconds: number): void {
  vi.spyOn(performance, 'now').mockReturnValue(performance.now() + seconds * 1000)
}

describe('an inbox that opens no transaction', () => {
  test.each<[what: string, once: OnceScript]>([
    ['throws', throwing],
    ['rejects', refused],
    ['rejects with nothing', () => Promise.reject(undefined)],
  ])('and %s cannot be reached, and its error is kept', async (_, once) => {
    const handler = vi.fn()
    const { send, reports, records } = receivingWith(scriptedInbox(once).inbox, {
      on: { 'order.created': handler },
    })
    const { error, ...outcome } = await send(orderCreated({ id: 'ord_1' }))
    expect(outcome).toEqual({ outcome: 'unavailable', code: 'store_unavailable', retryAfterSeconds: SOON })
    expect(error).toBeInstanceOf(StoreError)
    expect((error as Error).message).toMatch(/inbox's once failed: is the database .* reachable/)
    expect(error).toHaveProperty('cause')
    const where = { kind: 'order.created', key: 'test/order.created/ord_1' }
    expect(reports).toEqual([{ error, ctx: { request: null, ...where } }])
    expect(records).toMatchObject([
      { outcome: 'unavailable', status: 503, code: 'store_unavailable', ...where },
    ])
    expect(handler).not.toHaveBeenCalled()
  })

  test.each([
    undefined,
    null,
    true,
    '',
    'handled',
    {},
    ['handled'],
    { status: 'Handled' },
    { status: ['handled'] },
  ])('and resolves to %j misbehaves, and is blamed by the name of its contract', async (result) => {
    for (const once of [() => result, async () => result]) {
      const { send } = receivingWith(scriptedInbox(once).inbox, { on: { 'order.created': () => {} } })
      const outcome = await send(orderCreated())
      expect(outcome).toMatchObject({ outcome: 'unavailable', code: 'store_misbehaved' })
      expect((outcome.error as Error).message).toMatch(
        /^The inbox's once returned .*which the contract does not allow: it resolves to \{ status: 'handled' \| 'discarded' \| 'duplicate' \| 'in_flight' \}, see Inbox\.$/,
      )
    }
  })

  test.each(['handled', 'discarded', 'parked'])('and says %s misbehaves', async (status) => {
    const handler = vi.fn()
    const { send } = receivingWith(scriptedInbox(async () => ({ status })).inbox, {
      on: { 'order.created': handler },
    })
    const outcome = await send(orderCreated())
    expect(outcome).toMatchObject({ outcome: 'unavailable', code: 'store_misbehaved' })
    expect((outcome.error as Error).message).toMatch(new RegExp(`inbox returned ${status}`))
    expect(handler).not.toHaveBeenCalled()
  })

  test.each([
    ['duplicate', { outcome: 'duplicate' }],
    ['in_flight', { outcome: 'in_flight', code: 'in_flight', retryAfterSeconds: 5 }],
  ])('and says %s is believed, and what it calls later is rolled back', async (status, outcome) => {
    const { inbox, ends } = scriptedInbox(async (_, work) => {
      setTimeout(() => void work({}).catch(() => {}), 1_000)
      return { status }
    })
    const handler = vi.fn()
    const { send } = receivingWith(inbox, { on: { 'order.created': handler } })
    expect(await send(orderCreated())).toEqual(outcome)
    await advance(1)
    expect(ends).toEqual([{ rejected: expect.objectContaining({ code: 'store_misbehaved' }) }])
    expect(handler).not.toHaveBeenCalled()
  })
})

test('a transaction that ends while its handler runs aborts the signal at once, with what the inbox said, and is reported when the handler has settled', async () => {
  const hangsUp = deferred()
  const work = deferred()
  const signals: AbortSignal[] = []
  const lost = new Error('connection terminated')
  const { inbox } = scriptedInbox(async (_, run) => {
    await Promise.race([run({}).catch(() => {}), hangsUp.promise])
    throw lost
  })
  const handler = (_: unknown, { signal }: { signal: AbortSignal }) => {
    signals.push(signal)
    return work.promise
  }
  const { send, reports } = receivingWith(inbox, { on: { 'order.created': handler } })
  const outcome = send(orderCreated())
  await advance(1)
  const [signal] = signals
  expect(signal?.aborted).toBe(false)
  hangsUp.resolve()
  await advance(0)
  expect(signal?.reason).toMatchObject({ code: 'store_unavailable', cause: lost })
  work.resolve()
  expect(await outcome).toMatchObject({ outcome: 'unavailable', error: signal?.reason })
  expect(reports.map(({ error }) => error)).toEqual([signal?.reason])
})

test.each<[what: string, hint: unknown, message: RegExp]>([
  ['may say what holds it up', () => 'The pool is full.', /timeoutSeconds.* The pool is full\.$/],
  ['may know nothing', () => undefined, /waits longer\.$/],
  ['may say what cannot be text', () => Symbol('full'), /waits longer\.$/],
  ['may promise to say it', () => Promise.reject(new Error('unheard')), /waits longer\.$/],
])('of a handler that has not returned by the deadline, the inbox %s', async (_, hint, message) => {
  const { inbox } = scriptedInbox((__, work) => work({}))
  const { send, reports } = receivingWith(Object.assign(inbox, { hint }) as typeof inbox, {
    maxRunSeconds: 20,
    on: { 'order.created': () => never() },
  })
  const outcome = send(orderCreated())
  await advance(10)
  expect(await outcome).toMatchObject({ outcome: 'timed_out' })
  expect(reports[0]?.error.message).toMatch(message)
  await advance(10)
})

const DISCARD = new Discard('free')
const LATER = new RetryLater({ afterSeconds: 77 })

/** The ways a handler ends, and the error, if any, that its work rejects with. */
const HANDLERS = {
  returned: [() => {}, undefined],
  'thrown Discard': [() => Promise.reject(DISCARD), DISCARD],
  failed: [() => Promise.reject(BOOM), BOOM],
  'thrown RetryLater': [() => Promise.reject(LATER), LATER],
} as const satisfies Record<string, readonly [() => unknown, unknown]>

/** Does the work and passes on its result, as an inbox that does not know `Discard`. */
const rollingBack: OnceScript = (_, work) => work({})

/** The rejection of a status that nobody awaits would end the process; here it fails the run of the tests. */
const notAwaiting: OnceScript = async (_, work) => ({ status: work({}).then(() => 'handled') })

const HANDLED = { outcome: 'handled' }
const DUPLICATE = { outcome: 'duplicate' }
const IN_FLIGHT = { outcome: 'in_flight', code: 'in_flight', retryAfterSeconds: 5 }
const DISCARDED = { outcome: 'discarded', error: DISCARD }
const FAILED = { outcome: 'failed', code: 'handler_failed', error: BOOM }
const RETRY_LATER = { outcome: 'retry_later', code: 'retry_later', retryAfterSeconds: 77, error: LATER }
const UNREACHABLE = {
  outcome: 'unavailable',
  code: 'store_unavailable',
  retryAfterSeconds: SOON,
  error: expect.objectContaining({ cause: REFUSED }),
}
const MISBEHAVED = {
  outcome: 'unavailable',
  code: 'store_misbehaved',
  retryAfterSeconds: SOON,
  error: expect.objectContaining({ code: 'store_misbehaved' }),
}

const ENDS: readonly [
  handler: keyof typeof HANDLERS,
  inbox: string,
  once: OnceScript,
  outcome: { readonly outcome: string; readonly error?: unknown },
][] = [
  ['returned', 'says handled', saying('handled'), HANDLED],
  ['returned', 'says duplicate, as SQLite does at its commit', saying('duplicate'), DUPLICATE],
  ['returned', 'says in_flight', saying('in_flight'), IN_FLIGHT],
  ['returned', 'says discarded', saying('discarded'), MISBEHAVED],
  ['returned', 'says parked, and is no ledger', saying('parked'), MISBEHAVED],
  ['failed', 'says its status before its work has ended', notAwaiting, FAILED],
  ['returned', 'says a word outside the contract', returning({ status: 'Handled' }), MISBEHAVED],
  ['returned', 'fails at the commit', failingWith(REFUSED), UNREACHABLE],
  ['thrown Discard', 'says discarded', saying('discarded'), DISCARDED],
  ['thrown Discard', 'says in_flight, as it may after the roll-back', saying('in_flight'), IN_FLIGHT],
  ['thrown Discard', 'says handled', saying('handled'), MISBEHAVED],
  [
    'thrown Discard',
    'passes on the Discard',
    rollingBack,
    { ...UNREACHABLE, error: expect.objectContaining({ cause: DISCARD }) },
  ],
  ['failed', 'rolls back', rollingBack, FAILED],
  ['failed', 'fails to roll back', failingWith(REFUSED), FAILED],
  ['failed', 'says in_flight', saying('in_flight'), IN_FLIGHT],
  ['failed', 'says handled all the same', saying('handled'), { ...MISBEHAVED, error: { cause: BOOM } }],
  ['failed', 'says discarded', saying('discarded'), { ...MISBEHAVED, error: { cause: BOOM } }],
  ['thrown RetryLater', 'rolls back', rollingBack, RETRY_LATER],
  ['thrown RetryLater', 'says handled all the same', saying('handled'), MISBEHAVED],
]

describe('an inbox that is a ledger', () => {
  const about = { namespace: 'test', kind: 'order.created' }
  const retainMs = 30 * 86_400_000

  /** A scripted one, what it was asked to keep, and the order of that and of the ends of its transactions. */
  function scriptedLedger(once: OnceScript) {
    const order: string[] = []
    const scripted = scriptedInbox(async (request, work) => {
      try {
        return await once(request, work)
      } finally {
        order.push('over')
      }
    })
    const keep = vi.fn(async (_: FailedDelivery) => {
      order.push('kept')
      return 'failing'
    })
    Object.assign(scripted.inbox, { keep, forget: () => true, ledger: {} })
    return { ...scripted, keep, order }
  }

  test('is told about the event, and says which attempt it is; a plain transaction has none', async () => {
    const { inbox, requests } = scriptedLedger(async (_, work) => {
      await work({}, { attempt: 3 })
      return { status: 'handled' }
    })
    const attempts: unknown[] = []
    const on = { 'order.created': (_: unknown, ctx: HandlerContext) => void attempts.push(ctx.attempt) }
    for (const key of [undefined, () => null]) {
      const { send, records } = receivingWith(inbox, { on, key })
      await send(orderCreated({ id: 'ord_1' }))
      expect(records).toMatchObject([{ outcome: 'handled' }])
    }
    expect(attempts).toEqual([3, undefined])
    const more = { retainMs, maxRunMs: 300_000, about }
    expect(requests).toEqual([
      { key: 'test/order.created/ord_1', ...more },
      { key: null, ...more },
    ])
  })

  test.each<[string, keyof typeof HANDLERS, OnceScript, object, (string | undefined)?, object?]>([
    ['a handler that fails', 'failed', rollingBack, FAILED, 'handler_failed'],
    ['a RetryLater', 'thrown RetryLater', rollingBack, RETRY_LATER, 'retry_later'],
    ['a roll-back that fails', 'failed', failingWith(REFUSED), FAILED, 'handler_failed'],
    ['a success', 'returned', saying('handled'), HANDLED],
    ['a Discard', 'thrown Discard', saying('discarded'), DISCARDED],
    ['a commit whose end is unknown', 'returned', failingWith(REFUSED), UNREACHABLE],
    ['an event that was parked', 'returned', async () => ({ status: 'parked' }), { outcome: 'parked' }],
    ['an event that was parked meanwhile', 'thrown Discard', saying('parked'), { outcome: 'parked' }],
    ['an event that another delivery handled', 'failed', saying('duplicate'), DUPLICATE],
    ['a failure without a key', 'failed', rollingBack, FAILED, undefined, { key: () => null }],
  ])(
    'keeps what failed once its transaction is over: of %s',
    async (_, how, once, outcome, code, options = {}) => {
      const { inbox, keep, order } = scriptedLedger(once)
      const { send, receiver } = receivingWith(inbox, {
        on: { 'order.created': HANDLERS[how][0] },
        ...options,
      })
      expect(await send(orderCreated({ id: 'ord_1' }))).toMatchObject(outcome)
      await receiver.drain()
      expect(order).toEqual(code === undefined ? ['over'] : ['over', 'kept'])
      const failed = { key: 'test/order.created/ord_1', ...about, code, isReplay: false, retainMs }
      expect(keep.mock.calls.map(([given]) => given)).toMatchObject(code === undefined ? [] : [failed])
    },
  )

  test('keeps a handler that is given up once its transaction is over, whatever it does later', async () => {
    const work = deferred()
    const { inbox, keep, order } = scriptedLedger(async (_, run) => {
      await run({}).catch(() => {})
      await sleep(1)
      throw REFUSED
    })
    const { send } = receivingWith(inbox, { maxRunSeconds: 5, on: { 'order.created': () => work.promise } })
    const sent = send(orderCreated())
    await advance(5)
    expect(await sent).toMatchObject({ code: 'given_up' })
    work.reject(BOOM)
    await advance(60)
    expect(order).toEqual(['over', 'kept'])
    expect(keep.mock.calls).toMatchObject([[{ code: 'given_up' }]])
  })
})

describe('a transaction', () => {
  test.each(ENDS)(
    'whose handler has %s, and whose inbox %s, ends as is true',
    async (how, _, once, outcome) => {
      const [handler, error] = HANDLERS[how]
      const { inbox, ends } = scriptedInbox(once)
      const { send, records, reports } = receivingWith(inbox, { on: { 'order.created': handler } })
      const ended = await send(orderCreated())
      expect(ended).toMatchObject(outcome)
      expect(Object.keys(ended).sort()).toEqual(Object.keys(outcome).sort())
      expect(ends).toEqual([error === undefined ? 'resolved' : { rejected: error }])
      expect(records).toMatchObject([{ outcome: outcome.outcome, status: answerTo(ended).status }])
      const isFault = !['handled', 'duplicate', 'in_flight', 'discarded', 'retry_later'].includes(
        outcome.outcome,
      )
      expect(reports.map((report) => report.error)).toEqual(isFault ? [ended.error] : [])
    },
  )

  test.each<[string, object, unknown[]]>([
    ['handled', MISBEHAVED, [expect.objectContaining({ code: 'store_misbehaved' })]],
    ['discarded', MISBEHAVED, [expect.objectContaining({ code: 'store_misbehaved' })]],
    ['duplicate', DUPLICATE, []],
    ['in_flight', IN_FLIGHT, []],
  ])(
    'whose inbox says %s before the work is over: only an end is not believed, and aborts the handler',
    async (status, expected, faults) => {
      const signals: AbortSignal[] = []
      const { inbox } = scriptedInbox(async (_, work) => {
        void work({}).catch(() => {})
        return { status }
      })
      const handler = (_: unknown, { signal }: { signal: AbortSignal }) => {
        signals.push(signal)
        return sleep(1)
      }
      const { send, reports } = receivingWith(inbox, { on: { 'order.created': handler } })
      const outcome = send(orderCreated())
      await advance(1)
      expect(await outcome).toMatchObject(expected)
      expect(signals.map(({ aborted }) => aborted)).toEqual([faults.length > 0])
      expect(signals.filter(({ aborted }) => aborted).map(({ reason }) => reason)).toEqual(faults)
      expect(reports).toHaveLength(faults.length)
    },
  )

  test('whose handler failed with an error of the inbox is unavailable, and not the fault of the handler', async () => {
    const lost = new StoreError('store_unavailable', 'The connection was lost inside ctx.tx.')
    const { send, reports } = receivingWith(scriptedInbox(rollingBack).inbox, {
      on: { 'order.created': () => Promise.reject(lost) },
    })
    expect(await send(orderCreated())).toEqual({ ...UNREACHABLE, error: lost })
    expect(reports.map(({ error }) => error)).toEqual([lost])
  })

  test.each([
    ['returned', UNAVAILABLE, ['store_unavailable']],
    ['thrown Discard', UNAVAILABLE, ['store_unavailable']],
    ['failed', FAILED, ['boom']],
    ['thrown RetryLater', RETRY_LATER, []],
  ] as const)(
    'whose handler has %s, and whose inbox hangs then, is waited for until the deadline, and for 30 s at most',
    async (how, expected, codes) => {
      for (const [timeoutSeconds, answeredAfter] of [
        [10, 10],
        [60, 30],
      ] as const) {
        const { inbox } = scriptedInbox(hangingAfterWork)
        const options = { timeoutSeconds, on: { 'order.created': HANDLERS[how][0] } }
        const { send, receiver, reports } = receivingWith(inbox, options)
        const seen = vi.fn()
        void send(orderCreated()).then(seen)
        await advance(answeredAfter - 0.001)
        expect(seen).not.toHaveBeenCalled()
        await advance(0.001)
        expect(seen).toHaveBeenCalledExactlyOnceWith(expect.objectContaining(expected))
        expect(reports.map(({ error }) => error.code ?? error.message)).toEqual(codes)
        const drained = receiver.drain()
        await advance(30 - answeredAfter)
        await drained
      }
    },
  )
})
