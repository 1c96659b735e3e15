import { StoreError } from 'tix-webhooks'
import { describe, expect, test, vi } from 'vitest'
import { orderCreated } from '../../support/deliveries.js'
import { refused, throwing } from '../../support/delivering.js'
import { deferred, never } from '../../support/promises.js'
import { SOON } from '../../support/retry-after.js'
import { type OnceScript, receivingWith, scriptedInbox } from '../../support/scripted-inbox.js'
import { advance, useVirtualTime } from '../../support/virtual-time.js'

useVirtualTime()

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

  test.each(['handled', 'discarded'])('and says %s misbehaves', async (status) => {
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

describe('a transaction that ends while its handler runs', () => {
  /** A delivery whose transaction the test ends. */
  function losing(options: object = {}) {
    const hangsUp = deferred()
    const work = deferred()
    const signals: AbortSignal[] = []
    const lost = new Error('connection terminated')
    const { inbox } = scriptedInbox(async (_, run) => {
      await Promise.race([run({}).catch(() => {}), hangsUp.promise])
      throw lost
    })
    const received = receivingWith(inbox, {
      on: {
        'order.created': (_, ctx) => {
          signals.push(ctx.signal)
          return work.promise
        },
      },
      ...options,
    })
    return { ...received, hangsUp, work, lost, signal: () => signals[0] as AbortSignal }
  }

  test('aborts the signal at once, with what the inbox said, and is reported when the handler has settled', async () => {
    const { send, hangsUp, work, lost, signal, reports } = losing()
    const outcome = send(orderCreated())
    await advance(1)
    expect(signal().aborted).toBe(false)
    hangsUp.resolve()
    await advance(0)
    expect(signal().reason).toMatchObject({ code: 'store_unavailable', cause: lost })
    work.resolve()
    expect(await outcome).toMatchObject({ outcome: 'unavailable', error: signal().reason })
    expect(reports.map(({ error }) => error)).toEqual([signal().reason])
  })
})

describe('of a handler that has not returned by the deadline, the inbox', () => {
  test.each<[what: string, hint: unknown, message: RegExp]>([
    ['may say what holds it up', () => 'The pool is full.', /timeoutSeconds.* The pool is full\.$/],
    ['may know nothing', () => undefined, /waits longer\.$/],
    ['may say what cannot be text', () => Symbol('full'), /waits longer\.$/],
    ['may promise to say it', () => Promise.reject(new Error('unheard')), /waits longer\.$/],
  ])('%s', async (_, hint, message) => {
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
})
