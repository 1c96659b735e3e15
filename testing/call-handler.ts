import type { HandlerContext } from '../src/index.js'
import { checkOptionNames, describeType, describeValue, isRecord, settled } from '../src/internal.js'

/** The event that a handler takes. */
export type EventOfHandler<Handler> = Handler extends (event: infer Event, ...rest: never[]) => unknown
  ? Event
  : never

/** The context that a handler takes; if it takes none, that of any handler. */
export type ContextOfHandler<Handler> = Handler extends (event: never, ctx: infer Context) => unknown
  ? unknown extends Context
    ? HandlerContext
    : Context
  : HandlerContext

/** The result of a handler, awaited. */
export type ResultOfHandler<Handler> = Handler extends (...all: never[]) => infer Result
  ? Awaited<Result>
  : never

const CONTEXT_NAMES: readonly (keyof HandlerContext)[] = [
  'request',
  'key',
  'attempt',
  'deduplicated',
  'replayed',
  'signedAt',
  'secretIndex',
  'rawBody',
  'signal',
  'tx',
  'account',
  'platform',
]

/**
 * Calls one handler of an `on` map with the context of a first run, without a receiver, a signature or a store. Rethrows what the handler
 * throws, `RetryLater` and `Discard` included, and judges its result as the receiver does.
 *
 * @param on the map that you pass to `tixWebhooks`
 * @param name the key of the handler: a kind, or a group such as `event.*`
 * @param event from `sampleEvent`, or your own
 * @param ctx fields of the context in place of the defaults; `request`, `tx` and `account` have no default, and reading one that is not
 * given throws
 * @returns the result of the handler
 * @throws TypeError when there is no such handler, the event is of another kind, or `ctx` has an unknown field; a RunError when the
 * result shows that the handler failed or has not run, such as a `Response` with status 500
 * @example
 * ```ts
 * import type { Handlers } from 'tix-webhooks'
 * import { callHandler, sampleEvent } from 'tix-webhooks/testing'
 *
 * const on = {
 *   'order.created': async (event, { attempt }) => `${event.data.order.id}, attempt ${attempt}`,
 * } satisfies Handlers<Request>
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
  const result = await handler(event, contextOf(event, ctx))
  await settled(result, event.type)
  return result
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
  // The data may be anything: the user's schema decides.
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
 * The context of a first run, with the user's fields in place of the defaults. As in the receiver, an inbox counts no attempts, and
 * without a key there is no deduplication.
 */
function contextOf(event: SomeEvent, given: object): HandlerContext {
  const { order } = (event.data ?? {}) as { order?: { id?: unknown } | null }
  const controller = new AbortController()
  const deduplicated = (given as Partial<HandlerContext>).key !== null
  const context = {
    key: `test/${event.type}/${typeof order?.id === 'string' ? order.id : 'sample'}`,
    ...(deduplicated && !('tx' in given) && { attempt: 1 }),
    deduplicated,
    replayed: false,
    signedAt: new Date(typeof event.created_at === 'string' ? event.created_at : 0),
    secretIndex: 0,
    get rawBody() {
      return rawBodyOf(event)
    },
    platform: undefined,
  }
  // As in the receiver, a copy of the context has none.
  Object.defineProperty(context, 'signal', { configurable: true, value: controller.signal })
  Object.defineProperty(context, 'request', missing('request'))
  Object.defineProperty(context, 'tx', missing('tx'))
  Object.defineProperty(context, 'account', missing('account'))
  // Object.assign would call the user's getters, and fail on ours.
  return Object.defineProperties(
    context,
    Object.getOwnPropertyDescriptors(given),
  ) as unknown as HandlerContext
}

/** Only on access, because the output of a schema need not be JSON. */
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

/** A field that only the user can give: reading it throws, so that `undefined` does not surprise later. */
function missing(field: string): PropertyDescriptor {
  return {
    configurable: true,
    enumerable: false,
    get(): never {
      throw new TypeError(
        `The handler reads ctx.${field}, which callHandler was not given: pass it, callHandler(on, name, event, { ${field} }).`,
      )
    },
  }
}
