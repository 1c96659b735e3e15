import { Pool } from 'pg'
import { type Inbox, memoryStore, type OnceResult } from 'tix-webhooks'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { orderCreated, SECRET, sign } from '../../../support/deliveries.js'
import { honestInbox } from '../../../support/honest-inbox.js'
import { handler, make } from '../../../support/make-receiver.js'

const { inbox } = honestInbox()
const NO_INBOX = /^inbox must be an Inbox, such as postgresInbox\(pool\), not a pool or a database/

const REFUSED: readonly [what: string, options: Record<string, unknown>, message: RegExp][] = [
  [
    'an inbox and a store',
    { inbox, store: memoryStore(), namespace: 'orders' },
    /^Pass a store or an inbox, not both: an inbox keeps its own record/,
  ],
  [
    'an inbox without namespace',
    { inbox },
    /^namespace is required with store, inbox and failures: .*namespace: 'orders'.*two endpoints/,
  ],
  ['a client without once as inbox', { inbox: { query() {}, connect() {} }, namespace: 'orders' }, NO_INBOX],
  ['a store as inbox', { inbox: memoryStore(), namespace: 'orders' }, /^inbox is a store: pass it as store/],
  [
    'an inbox as store',
    { inbox: undefined, store: inbox, namespace: 'orders' },
    /^store is an inbox: pass it as inbox/,
  ],
  ['a pool of pg as inbox', { inbox: new Pool(), namespace: 'orders' }, NO_INBOX],
]

describe('a receiver is not made', () => {
  test.each(REFUSED)('with %s', (_, options, message) => {
    expect(() => make(options)).toThrow(TypeError)
    expect(() => make(options)).toThrow(message)
  })
})

describe('a receiver is made', () => {
  test.each([
    ['an inbox and a namespace', {}],
    ['store: undefined', { store: undefined }],
  ])('with %s', async (_, options) => {
    const { inbox, asked } = honestInbox()
    const receiver = make({ inbox, namespace: 'orders', ...options })
    const order = { ...(await sign(orderCreated({ id: 'ord_1' }))), request: null }
    expect(await receiver.receive(order)).toEqual({ outcome: 'handled' })
    expect(asked).toEqual(['orders/order.created/ord_1'])
  })

  test('with an inbox of a class, whose once is called as its method', async () => {
    class Own implements Inbox<string> {
      readonly #tx = 'tx'
      async once(_: unknown, work: (tx: string) => Promise<void>): Promise<OnceResult> {
        await work(this.#tx)
        return { status: 'handled' }
      }
    }
    const seen: unknown[] = []
    const on = { 'order.created': (_: unknown, ctx: { tx: unknown }) => seen.push(ctx.tx) }
    const receiver = make({ inbox: new Own(), namespace: 'orders', on })
    expect(await receiver.receive({ ...(await sign(orderCreated())), request: null })).toEqual({
      outcome: 'handled',
    })
    expect(seen).toEqual(['tx'])
  })
})

describe('in production', () => {
  afterEach(() => {
    vi.unstubAllEnvs()
    vi.restoreAllMocks()
  })

  test('no warning of a memory store is given where there is an inbox', async () => {
    vi.resetModules()
    vi.stubEnv('NODE_ENV', 'production')
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
    const { createReceiver } = await import('tix-webhooks')
    const options = { secret: SECRET, on: { 'order.created': handler } }
    createReceiver({ ...options, inbox, namespace: 'orders' })
    expect(warn).not.toHaveBeenCalled()
    // The warning still appears without either option.
    createReceiver(options)
    expect(warn).toHaveBeenCalledOnce()
  })
})
