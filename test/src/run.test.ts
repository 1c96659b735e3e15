import { Discard, type Outcome, RetryLater } from 'tix-webhooks'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { Timers } from '../../src/lib/timers.js'
import { LazyAbort, Run, type RunRecord } from '../../src/receiver/run.js'
import { hold } from '../support/held-lease.js'
import { deferred, never } from '../support/promises.js'

beforeEach(() => {
  vi.useFakeTimers()
})

afterEach(() => {
  vi.unstubAllGlobals()
  vi.useRealTimers()
})

const MAX_RUN_MS = 90_000
const TIMED_OUT: Outcome = { outcome: 'timed-out', code: 'timed_out' }

/** A handler that a test settles, under a lease on a store that grants everything. */
function start(options: { callHandler?: () => unknown; withLease?: boolean } = {}) {
  const leased = options.withLease === false ? undefined : hold()
  const work = deferred<unknown>()
  const abort = new LazyAbort()
  const onOutlived = vi.fn()
  const run = new Run({
    kind: 'order.created',
    callHandler: options.callHandler ?? (() => work.promise),
    record: leased?.held,
    maxRunMs: MAX_RUN_MS,
    abort,
    timers: new Timers(),
    onOutlived,
  })
  const seen: { finished?: Outcome; settled?: Outcome } = {}
  void run.finished().then((outcome) => {
    seen.finished = outcome
  })
  void run.settled.then((outcome) => {
    seen.settled = outcome
  })
  return { run, abort, onOutlived, called: () => leased?.called() ?? [], seen, work }
}

const ENDS: readonly [how: string, callHandler: () => unknown, outcome: object, end: string][] = [
  ['returns', () => 'a value that nobody looks at', { outcome: 'handled' }, 'complete'],
  ['resolves', async () => {}, { outcome: 'handled' }, 'complete'],
  [
    'throws Discard',
    () => {
      throw new Discard('free')
    },
    { outcome: 'discarded' },
    'complete',
  ],
  [
    'rejects with RetryLater',
    async () => {
      throw new RetryLater({ afterSeconds: 60 })
    },
    { outcome: 'retry-later', code: 'retry_later', retryAfterSeconds: 60 },
    'release',
  ],
  [
    'throws',
    () => {
      throw new TypeError('data.order is undefined')
    },
    { outcome: 'failed', code: 'handler_failed', error: new TypeError('data.order is undefined') },
    'release',
  ],
  ['rejects', () => Promise.reject(new Error('mail')), { outcome: 'failed' }, 'release'],
  [
    'throws what is no error',
    () => {
      throw 'mail'
    },
    {
      outcome: 'failed',
      error: { code: 'handler_failed', message: expect.stringMatching(/order\.created.*string/) },
    },
    'release',
  ],
  ['rejects with nothing', () => Promise.reject(undefined), { outcome: 'failed' }, 'release'],
]

describe('a run', () => {
  test('calls the handler at once, and knows nothing until it has settled', async () => {
    const callHandler = vi.fn(() => never())
    const { run, seen } = start({ callHandler })
    expect(callHandler).toHaveBeenCalledOnce()
    await vi.advanceTimersByTimeAsync(1_000)
    expect(seen).toEqual({})
    run.outlive(TIMED_OUT)
    expect(await run.answer).toBe(TIMED_OUT)
  })

  test.each(ENDS)(
    'whose handler %s ends so, and settles its record',
    async (_, callHandler, outcome, end) => {
      const { run, called, seen, onOutlived } = start({ callHandler })
      await vi.advanceTimersByTimeAsync(0)
      expect(seen.finished).toMatchObject(outcome)
      expect(seen.settled).toBe(seen.finished)
      expect(await run.answer).toBe(seen.finished)
      expect(onOutlived).not.toHaveBeenCalled()
      expect(called()).toEqual([end])
      expect(vi.getTimerCount()).toBe(0)
    },
  )

  test('without a lease needs no store', async () => {
    const { seen, called } = start({ callHandler: async () => {}, withLease: false })
    await vi.advanceTimersByTimeAsync(0)
    expect(seen.finished).toEqual({ outcome: 'handled' })
    expect(called()).toEqual([])
  })

  test('knows its outcome while its record is still under way', async () => {
    const record = deferred()
    const slow: RunRecord = {
      call: (handler) => handler(),
      letGo() {},
      meanwhile: (outcome) => outcome,
      settle: (outcome) => record.promise.then(() => outcome),
    }
    const run = new Run({
      kind: 'order.created',
      callHandler: async () => {},
      record: slow,
      maxRunMs: MAX_RUN_MS,
      abort: new LazyAbort(),
      timers: new Timers(),
      onOutlived: vi.fn(),
    })
    const finished = vi.fn()
    void run.finished().then(finished)
    await vi.advanceTimersByTimeAsync(MAX_RUN_MS * 2)
    run.outlive(TIMED_OUT)
    expect(await run.answer).toEqual({ outcome: 'handled' })
    expect(finished).not.toHaveBeenCalled()

    record.resolve()
    await vi.advanceTimersByTimeAsync(0)
    expect(finished).toHaveBeenCalledWith({ outcome: 'handled' })
  })
})

describe('a run that is not over at maxRunMs', () => {
  test('is given up: the signal aborts, and the outcome is timed-out and says why', async () => {
    const { abort, seen, run, onOutlived } = start()
    const { signal } = abort
    await vi.advanceTimersByTimeAsync(MAX_RUN_MS - 1)
    expect(signal.aborted).toBe(false)
    expect(seen).toEqual({})

    await vi.advanceTimersByTimeAsync(1)
    expect(signal.aborted).toBe(true)
    expect(signal.reason).toMatchObject({ code: 'given_up', message: expect.stringMatching(/maxRunSeconds/) })
    expect(seen.finished).toEqual({
      outcome: 'timed-out',
      code: 'given_up',
      retryAfterSeconds: 5,
      error: signal.reason,
    })
    expect(seen.settled).toBeUndefined()
    expect(await run.answer).toBe(seen.finished)
    expect(onOutlived).toHaveBeenCalledExactlyOnceWith(run, seen.finished)
  })

  test('is renewed no more, and nothing is settled for it', async () => {
    const { called } = start()
    await vi.advanceTimersByTimeAsync(MAX_RUN_MS)
    const renewals = called()
    expect(renewals).toEqual(['renew', 'renew', 'renew', 'renew'])
    await vi.advanceTimersByTimeAsync(MAX_RUN_MS * 5)
    expect(called()).toEqual(renewals)
    expect(vi.getTimerCount()).toBe(0)
  })

  test.each([
    ['complete', 'handled'],
    ['release', 'failed'],
  ] as const)('still sends its %s when the handler settles later', async (end, outcome) => {
    const { called, seen, work } = start()
    await vi.advanceTimersByTimeAsync(MAX_RUN_MS * 3)
    const before = called().length
    if (end === 'complete') work.resolve(undefined)
    else work.reject(new Error('aborted'))
    await vi.advanceTimersByTimeAsync(0)

    expect(called().slice(before)).toEqual([end])
    expect(seen.settled).toMatchObject({ outcome })
    expect(seen.finished).toMatchObject({ outcome: 'timed-out' })
  })

  test('costs no AbortController where the handler never looked', async () => {
    const made = vi.fn()
    vi.stubGlobal('AbortController', made)
    const { seen } = start()
    await vi.advanceTimersByTimeAsync(MAX_RUN_MS)
    expect(seen.finished).toMatchObject({ outcome: 'timed-out' })
    expect(made).not.toHaveBeenCalled()
  })
})

test('a run that settles in time aborts nothing', async () => {
  const { abort, work } = start()
  const { signal } = abort
  await vi.advanceTimersByTimeAsync(MAX_RUN_MS - 1)
  work.resolve(undefined)
  await vi.advanceTimersByTimeAsync(MAX_RUN_MS * 2)
  expect(signal.aborted).toBe(false)
})

test('the limit of a run keeps no process alive: its sender may have the answer, and nobody waits', async () => {
  const set = vi.spyOn(globalThis, 'setTimeout')
  start({ withLease: false })
  await vi.advanceTimersByTimeAsync(0)
  const timers = set.mock.results.map(({ value }) => value as NodeJS.Timeout)
  set.mockRestore()
  expect(timers.map((timer) => timer.hasRef())).toEqual([false])
})
