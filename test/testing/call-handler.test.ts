import {
  Discard,
  type HandlerContext,
  type Handlers,
  type Inbox,
  RetryLater,
  type WebhookOptions,
} from 'tix-webhooks'
import { callHandler, sampleEvent } from 'tix-webhooks/testing'
import { describe, expect, test } from 'vitest'
import { receiving } from '../support/receiving.js'
import { errorOf } from '../support/thrown-error.js'

/** A call without types, as from plain JavaScript. */
const callAnyway = callHandler as unknown as (...args: unknown[]) => Promise<unknown>

const order = sampleEvent('order.created', { data: { order: { id: 'ord_7' } }, at: '2026-05-17T14:02:11Z' })
const published = sampleEvent('event.published', { seed: 1 })

/** The context that a handler is given. */
async function contextWith(given?: object, event: object = order): Promise<HandlerContext> {
  const on = { [(event as typeof order).type]: (_event: unknown, ctx: HandlerContext) => ctx }
  return (await callAnyway(on, (event as typeof order).type, event, given)) as HandlerContext
}

/** An inbox whose transactions all come to a good end. */
const freshInbox: Inbox<unknown> = {
  async once(_request, work) {
    await work({})
    return { status: 'handled' }
  },
}

describe('a handler', () => {
  test('of a map as an app has it is called without anything else around it', async () => {
    const on = {
      'order.created': async (event, { attempt }) => `${event.data.order.id}, attempt ${attempt}`,
      'event.*': (event) => event.type,
    } satisfies Handlers<Request>
    expect(await callHandler(on, 'order.created', order)).toBe('ord_7, attempt 1')
    expect(await callHandler(on, 'event.*', published)).toBe('event.published')
  })

  test.each([new RetryLater({ afterSeconds: 5 }), new Discard('spam'), new Error('no stock'), 'text'])(
    'that throws %o throws it, at once or later',
    async (thrown) => {
      const on = {
        'order.created': (): void => {
          throw thrown
        },
        'event.published': () => Promise.reject(thrown),
      }
      await expect(callHandler(on, 'order.created', order)).rejects.toBe(thrown)
      await expect(callHandler(on, 'event.published', published)).rejects.toBe(thrown)
    },
  )

  test.each<[string, () => unknown, string]>([
    ['a list of promises', () => [Promise.reject(new Error('no paper'))], 'no paper'],
    ['a Response that is not ok', async () => Response.error(), 'returned a Response with status 0'],
    ['a function', () => () => {}, 'returned a function'],
  ])('that returns %s has failed, as in the receiver', async (_, handler, message) => {
    await expect(callHandler({ 'order.created': handler }, 'order.created', order)).rejects.toThrow(message)
  })
})

describe('the context', () => {
  test('is that of a first run', async () => {
    const ctx = await contextWith()
    expect(ctx).toMatchObject({
      key: 'test/order.created/ord_7',
      attempt: 1,
      deduplicated: true,
      signedAt: new Date('2026-05-17T14:02:11Z'),
      secretIndex: 0,
    })
    expect(new TextDecoder().decode(ctx.rawBody)).toBe(JSON.stringify(order))
    expect(ctx.rawBody).toBeInstanceOf(Uint8Array)
    expect(ctx.signal).toBeInstanceOf(AbortSignal)
    expect(ctx.signal.aborted).toBe(false)
  })

  test.each<[string, Partial<WebhookOptions<unknown, unknown>>, object]>([
    ['with a store', {}, {}],
    ['without a key', { key: () => null }, { key: null }],
    ['with an inbox', { inbox: freshInbox, namespace: 'test' }, { tx: {} }],
  ])('has the fields of the receiver’s, and says the same of the run %s', async (_, options, given) => {
    const seen: HandlerContext[] = []
    const { send } = receiving({ on: { 'order.created': (_event, ctx) => seen.push(ctx) }, ...options })
    await send(order)
    const ctx = await contextWith(given)
    const [theirs] = seen as [HandlerContext]
    expect([ctx.attempt, ctx.deduplicated, ctx.key !== null]).toEqual([
      theirs.attempt,
      theirs.deduplicated,
      theirs.key !== null,
    ])
    const fields = { ...ctx, request: null, tx: null, account: null }
    expect(Object.keys(fields).sort()).toEqual(Object.keys({ ...theirs }).sort())
  })

  test.each([
    [published, 'test/event.published/sample'],
    [{ ...order, data: { order: null } }, 'test/order.created/sample'],
    [{ ...order, data: { order: { id: 7 } } }, 'test/order.created/sample'],
  ])('has a key of each event', async (event, key) => {
    expect((await contextWith({}, event)).key).toBe(key)
  })

  test('has what was given in place of its own, undefined too', async () => {
    const given = {
      ...{ request: { id: 1 }, key: null, attempt: undefined, deduplicated: false, signedAt: new Date(0) },
      ...{ replayed: true, secretIndex: 1, rawBody: new Uint8Array(1), tx: { query: () => {} } },
      signal: AbortSignal.abort(),
    }
    const ctx = await contextWith(Object.freeze(given))
    expect({ ...ctx }).toEqual(given)
    expect([ctx.signal, ctx.tx]).toEqual([given.signal, given.tx])
  })

  test('calls a getter that was given when it is read, and not before', async () => {
    let reads = 0
    const ctx = await contextWith({
      get tx() {
        reads += 1
        return 'tx'
      },
    })
    expect(reads).toBe(0)
    expect(ctx.tx).toBe('tx')
  })

  test.each(['request', 'tx', 'account'] as const)(
    'says that %s is missing, when it is read',
    async (field) => {
      const ctx = await contextWith()
      const error = await errorOf(() => ctx[field])
      expect(error).toBeInstanceOf(TypeError)
      expect(error.message).toBe(
        `The handler reads ctx.${field}, which callHandler was not given: pass it, callHandler(on, name, event, { ${field} }).`,
      )
      // Looking at the context is not reading it.
      expect(JSON.parse(JSON.stringify(ctx))).toMatchObject({ attempt: 1 })
      expect(Object.keys({ ...ctx })).not.toContain(field)
    },
  )

  test('says that rawBody is missing, when it is read and the event is no JSON', async () => {
    const ctx = await contextWith({}, { type: 'order.refunded', created_at: '', data: { cents: 5n } })
    const error = await errorOf(() => ctx.rawBody)
    expect(error).toBeInstanceOf(TypeError)
    expect(error.message).toContain('pass it, callHandler(on, name, event, { rawBody }).')
  })
})

const on = { 'order.created': () => {}, 'event.*': () => {} }

const MISTAKES: [args: unknown[], message: string][] = [
  [[on, 'order.creatd', order], 'on["order.creatd"] is missing. The handlers are order.created, event.*.'],
  [[{ a: 'issue' }, 'a', order], 'on["a"] is a string, not a function.'],
  [[undefined, 'order.created', order], 'on must be a plain object of handlers, not undefined.'],
  [[on, 'order.created', published], 'on["order.created"] takes no event of kind "event.published".'],
  [[on, 'event.*', { ...order, type: 'events.x' }], 'on["event.*"] takes no event of kind "events.x".'],
  [
    [on, 'order.created'],
    'event must be an event with type and data, such as sampleEvent("order.created"), no',
  ],
  [
    [on, 'order.created', order, { attemp: 2 }],
    'There is no option ctx.attemp. The options are request, key, attempt,',
  ],
  [[on, 'order.created', order, null], 'ctx must be an object of request, key, attempt,'],
]

const mistakes = MISTAKES.map(([args, message]) => ({ args, message }))

test.each(mistakes)('refuses before anything runs: $message', async ({ args, message }) => {
  const error = await errorOf(() => callAnyway(...args))
  expect(error).toBeInstanceOf(TypeError)
  expect(error.message.slice(0, message.length)).toBe(message)
})
