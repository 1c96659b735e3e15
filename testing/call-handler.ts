import type { HandlerContext } from '../src/index.js'
import { describeType, describeValue } from '../src/lib/describe-type.js'
import { checkOptionNames, isRecord } from '../src/lib/option-names.js'

/** The event that a handler takes. */
export type EventOfHandler<Handler> = Handler extends (event: infer Event, ...rest: never[]) => unknown
  ? Event
  : never

/** The context that a handler takes; where it takes none, that of any handler. */
export type ContextOfHandler<Handler> = Handler extends (event: never, ctx: infer Context) => unknown
  ? unknown extends Context
    ? HandlerContext
    : Context
  : HandlerContext

/** What a handler comes to. */
export type ResultOfHandler<Handler> = Handler extends (...all: never[]) => infer Result
  ? Awaited<Result>
  : never

const CONTEXT_NAMES: readonly (keyof HandlerContext)[] = [
  'request',
  'key',
  'attempt',
  'deduplicated',
  'signedAt',
  'secretIndex',
  'rawBody',
  'signal',
  'tx',
]

/**
 * Calls one handler of an `on` map, alone, with the context of a first run: no receiver, no signature, no store. What it throws
 * is thrown, `RetryLater` and `Discard` included.
 *
 * @param on the map, as you give it to `tixWebhooks`
 * @param name whose handler: a kind, or a group such as `event.*`
 * @param event one of `sampleEvent`, or your own
 * @param ctx what of the context is yours; `request` and `tx` have no default, and a handler that reads one is told so
 * @returns what the handler returns
 * @throws TypeError when there is no such handler, the event is of another kind, or `ctx` has what no context has
 * @example
 * ```ts
 * import type { Handlers } from 'tix-webhooks'
 * import { callHandler, sampleEvent } from 'tix-webhooks/testing'
 *
 * const on = {
 *   'order.created': async (event, { attempt }) => `${event.data.order.id}, attempt ${attempt}`,
 * } satisfies Handlers<Record<never, never>, Request>
 *
 * const event = sampleEvent('order.created', { data: { order: { id: 'ord_7' } } })
 * console.assert((await callHandler(on, 'order.created', event)) === 'ord_7, attempt 1')
 * ```
 */
export async function callHandler<On extends object, Name extends keyof On & string>(
  on: On,
  name: Name,
  event: EventOfHandler<NonNullable<On[Name]>>,
  ctx: Partial<ContextOfHandler<NonNullable<On[Name]>>> = {},
): Promise<ResultOfHandler<NonNullable<On[Name]>>> {
  const handler = handlerOf(on, name)
  checkKind(name, event)
  checkOptionNames(ctx, CONTEXT_NAMES, 'ctx.')
  return handler(event, contextOf(event, ctx))
}

function handlerOf(on: unknown, name: string): (event: unknown, ctx: HandlerContext) => never {
  if (!isRecord(on)) throw new TypeError(`on must be a plain object of handlers, not ${describeType(on)}.`)
  const handler = Object.hasOwn(on, name) ? on[name] : undefined
  if (typeof handler === 'function') return handler as ReturnType<typeof handlerOf>
  const what = handler === undefined ? 'missing' : `${describeType(handler)}, not a function`
  throw new TypeError(
    `on[${describeValue(name)}] is ${what}. The handlers are ${Object.keys(on).join(', ') || 'none'}.`,
  )
}

function checkKind(name: string, event: unknown): asserts event is SomeEvent {
  const { type } = isRecord(event) ? event : {}
  // The data may be anything: a schema of the user's makes of it what it likes.
  if (typeof type !== 'string' || !('data' in (event as object))) {
    throw new TypeError(
      `event must be an event with type and data, such as sampleEvent(${JSON.stringify(name)}), not ${describeType(event)}${isRecord(event) ? ' without them' : ''}.`,
    )
  }
  const isFor = name.endsWith('.*') ? type.startsWith(name.slice(0, -1)) : type === name
  if (!isFor)
    throw new TypeError(`on[${JSON.stringify(name)}] takes no event of kind ${describeValue(type)}.`)
}

interface SomeEvent {
  readonly type: string
  readonly created_at?: unknown
  readonly data: unknown
}

/**
 * What a first run is told, with what the user gave in place of it. As the receiver does: an inbox counts no attempts, and without
 * a key there is no record.
 */
function contextOf(event: SomeEvent, given: object): HandlerContext {
  const { order } = (event.data ?? {}) as { order?: { id?: unknown } | null }
  const controller = new AbortController()
  const deduplicated = (given as Partial<HandlerContext>).key !== null
  const context = {
    key: `test/${event.type}/${typeof order?.id === 'string' ? order.id : 'sample'}`,
    ...(deduplicated && !('tx' in given) && { attempt: 1 }),
    deduplicated,
    signedAt: new Date(typeof event.created_at === 'string' ? event.created_at : 0),
    secretIndex: 0,
    get rawBody() {
      return rawBodyOf(event)
    },
    signal: controller.signal,
  }
  Object.defineProperty(context, 'request', missing('request'))
  Object.defineProperty(context, 'tx', missing('tx'))
  // Not by Object.assign, which would keep the getters.
  for (const name of Reflect.ownKeys(given)) {
    Object.defineProperty(context, name, bare(Object.getOwnPropertyDescriptor(given, name)))
  }
  return context as unknown as HandlerContext
}

/** A descriptor that inherits nothing: a library that puts a `get` on Object.prototype would make any other one invalid. */
function bare(descriptor: PropertyDescriptor | undefined): PropertyDescriptor {
  return { __proto__: null, ...descriptor } as PropertyDescriptor
}

/** Made when it is read: what a schema made of the data need not be JSON. */
function rawBodyOf(event: SomeEvent): Uint8Array {
  try {
    return new TextEncoder().encode(JSON.stringify(event))
  } catch (cause) {
    throw new TypeError(
      'The handler reads ctx.rawBody, and the event cannot be serialised as JSON: pass it, callHandler(on, name, event, { rawBody }).',
      { cause },
    )
  }
}

/** A field that only the user can fill in: whoever reads it is told so, instead of meeting `undefined` later. */
function missing(field: string): PropertyDescriptor {
  return bare({
    configurable: true,
    enumerable: false,
    get(): never {
      throw new TypeError(
        `The handler reads ctx.${field}, which callHandler was not given: pass it, callHandler(on, name, event, { ${field} }).`,
      )
    },
  })
}
