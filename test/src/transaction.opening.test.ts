import { StoreError } from 'tix-webhooks'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { HANDLED } from '../../src/receiver/outcome.js'
import { ask, opened, REQUEST } from '../support/opened-transaction.js'
import { never } from '../support/promises.js'
import { type OnceScript, saying } from '../support/scripted-inbox.js'
import { advance, useVirtualTime } from '../support/virtual-time.js'

useVirtualTime()

afterEach(() => {
  vi.restoreAllMocks()
})

const HUNG_UP = new Error('connection terminated')

describe('opening a transaction', () => {
  test('gives the very transaction of the inbox, though it be a thenable', async () => {
    const tx = {}
    const then = vi.fn()
    Reflect.set(tx, 'then', then)
    const { run, requests } = await opened(saying('handled', tx))
    expect(run.tx).toBe(tx)
    expect(then).not.toHaveBeenCalled()
    expect(requests).toEqual([REQUEST])
    await run.settle(HANDLED)
  })

  test.each(['duplicate', 'in-flight'] as const)('gives %s where the inbox says so', async (result) => {
    expect(await ask(async () => result).opening).toBe(result)
  })

  test.each<[what: string, once: OnceScript]>([
    [
      'throws',
      () => {
        throw HUNG_UP
      },
    ],
    ['rejects', () => Promise.reject(HUNG_UP)],
  ])('ends with store_unavailable where the inbox %s', async (_, once) => {
    await expect(ask(once).opening).rejects.toMatchObject({
      code: 'store_unavailable',
      message: expect.stringMatching(/inbox's once failed: is the database .* reachable/),
      cause: HUNG_UP,
    })
  })

  test('ends with the own StoreError of an inbox, unchanged', async () => {
    const missing = new StoreError('store_unavailable', 'The table is missing: call inbox.migrate().')
    await expect(ask(() => Promise.reject(missing)).opening).rejects.toBe(missing)
  })

  test.each([undefined, null, true, 'ok', 'Handled', '', {}, ['handled'], { status: 'handled' }])(
    'ends with store_misbehaved where the inbox resolves to %j',
    async (result) => {
      await expect(ask(async () => result).opening).rejects.toMatchObject({
        code: 'store_misbehaved',
        message: expect.stringMatching(
          /inbox's once resolved to .*which the contract does not allow: see Inbox/,
        ),
      })
    },
  )

  test('blames an inbox by the name of its own contract', async () => {
    const fault: unknown = await ask(async () => undefined).opening.catch((error) => error)
    expect((fault as Error).message).toMatch(/see Inbox/)
    expect((fault as Error).message).not.toMatch(/IdempotencyStore/)
  })

  test.each(['handled', 'discarded'])(
    'ends with store_misbehaved where the inbox says %s and never called its work',
    async (result) => {
      await expect(ask(async () => result).opening).rejects.toMatchObject({
        code: 'store_misbehaved',
        message: expect.stringMatching(new RegExp(`inbox returned ${result}`)),
      })
    },
  )
})

describe('a transaction that nobody waits for', () => {
  const LATE = {
    code: 'store_unavailable',
    message: expect.stringMatching(/by the deadline.*Nothing has run/),
  }

  test('because it opens after the deadline is rolled back', async () => {
    const { opening, ends } = ask(async (_, work) => {
      await new Promise((resolve) => setTimeout(resolve, 12_000))
      return work({})
    })
    const refused = expect(opening).rejects.toMatchObject(LATE)
    await advance(10)
    await refused
    expect(ends).toEqual([])
    await advance(2)
    expect(ends).toEqual([{ rejected: expect.objectContaining(LATE) }])
  })

  test('because it opens where the event loop was blocked past the deadline is rolled back', async () => {
    const { opening, ends } = ask(async (_, work) => {
      vi.spyOn(performance, 'now').mockReturnValue(performance.now() + 11_000)
      return work({})
    })
    await expect(opening).rejects.toMatchObject(LATE)
    expect(ends).toEqual([{ rejected: expect.objectContaining(LATE) }])
  })

  test('because the timer of the deadline fired a moment before the clock said so is rolled back', async () => {
    const { opening, ends } = ask(async (_, work) => {
      await new Promise((resolve) => setTimeout(resolve, 10_000))
      return work({})
    })
    const refused = expect(opening).rejects.toMatchObject(LATE)
    // Timers are counted in whole milliseconds, and the clock in parts of them.
    vi.spyOn(performance, 'now').mockReturnValue(performance.now() + 9_999.7)
    await advance(10)
    await refused
    expect(ends).toEqual([{ rejected: expect.any(StoreError) }])
  })

  test('because the inbox calls its work a second time is rolled back, so that it holds no connection', async () => {
    const again = vi.fn()
    const { run, ends } = await opened(async (_, work) => {
      await work({})
      again()
      // As some libraries do where a commit failed to serialize.
      await work({})
      return 'handled'
    })
    const settling = run.settle(HANDLED)
    await advance(40)
    expect(again).toHaveBeenCalledOnce()
    expect(ends).toEqual(['resolved', { rejected: expect.any(StoreError) }])
    expect(await settling).toMatchObject({ outcome: 'unavailable' })
  })

  test('because the inbox calls its work after it had answered is rolled back', async () => {
    const { opening, ends } = ask(async (_, work) => {
      setTimeout(() => void work({}).catch(() => {}), 1_000)
      return 'in-flight'
    })
    expect(await opening).toBe('in-flight')
    await advance(1)
    expect(ends).toEqual([{ rejected: expect.any(StoreError) }])
  })

  test('an inbox that never opens one is given up at the deadline', async () => {
    const { opening } = ask(() => never(), 3_000)
    const refused = expect(opening).rejects.toMatchObject(LATE)
    await advance(3)
    await refused
  })
})
