import type { MeterProvider, TracerProvider } from '@opentelemetry/api'
import {
  type Account,
  type DeliveryRecord,
  EVENT_KINDS,
  type SchemaMap,
  type WebhookOptions,
} from '../src/index.js'
import {
  checkedFor,
  checkOptionNames,
  DEFAULT_MAX_RUN_SECONDS,
  describeType,
  isLedger,
  isPlainObject,
  isRecord,
} from '../src/internal.js'
import { FailureGauge } from './failure-gauge.js'
import { Meters } from './meters.js'
import { type AnyHandler, tracedHandler } from './run.js'

/** The destinations of spans and metrics, and their attributes. */
export interface TelemetryOptions {
  /** Default: the provider that is registered with `@opentelemetry/api` when a delivery arrives. */
  readonly tracerProvider?: TracerProvider | undefined
  /** Default: the provider that is registered with `@opentelemetry/api` when a delivery arrives. */
  readonly meterProvider?: MeterProvider | undefined
  /**
   * Whether the counter has the id of the account: up to a series for each account and end, so only you know what that costs. Spans always
   * have it. Default false.
   */
  readonly accounts?: boolean | undefined
}

/**
 * Adds OpenTelemetry spans and metrics to the options of any `tixWebhooks`, whose types stay the same. A span `process <kind>` for each run
 * of a handler, active while it runs; the histograms `messaging.process.duration` and `tix_webhooks.delivery.age`, in seconds; and the
 * counter `tix_webhooks.deliveries`; with the option `failures`, the gauge `tix_webhooks.failures`, by state. A kind that neither `on` nor `schemas` names is `_OTHER` on metrics. It registers no provider, and
 * does nothing until your app has registered one. It wraps `on`, `onUnhandled` and `onDelivery`.
 *
 * @param telemetryOptions providers instead of the registered ones, and whether metrics have the account. Default: neither
 * @returns options for `tixWebhooks`; the given ones are not changed
 * @throws TypeError when a provider is not one, `accounts` is no boolean, or the options are instrumented already
 * @example
 * ```ts
 * app.post('/hooks', tixWebhooks(instrument({
 *   secret: process.env.TIX_SIGNING_SECRET,
 *   on: { 'order.created': async (event) => issueTickets(event.data.order.id) },
 * })))
 * ```
 */
export function instrument<
  Request = unknown,
  Tx = undefined,
  Schemas extends SchemaMap<keyof Schemas> = Record<never, never>,
  Found extends Account | undefined = undefined,
>(
  options: WebhookOptions<Request, Tx, Schemas, Found>,
  telemetryOptions: TelemetryOptions = {},
): WebhookOptions<Request, Tx, Schemas, Found> {
  const { tracerProvider, meterProvider, accounts } = checkedFor(instrument, () => checked(telemetryOptions))
  // Refused by tixWebhooks, with a message that names the fix; and so is every invalid option that is passed on below.
  if (typeof options !== 'object' || options === null) return options
  const { on, onUnhandled, onDelivery } = options
  const kinds = namedKinds(on, options.schemas)
  const nameOf = (kind: string): string => (kinds.has(kind) ? kind : '_OTHER')
  const { store, inbox, namespace = 'default' } = options
  const backend: unknown = store ?? inbox
  const failures =
    isRecord(backend) && isLedger(backend) ? new FailureGauge(backend.ledger, namespace) : undefined
  const meters = new Meters({ provider: meterProvider, nameOf, accounts: accounts === true, failures })
  const now = typeof options.now === 'function' ? options.now : Date.now
  const { maxRunSeconds = DEFAULT_MAX_RUN_SECONDS } = options
  const telemetry = { tracerProvider, meters, now, maxRunSeconds }
  const trace = (handler: unknown): unknown =>
    typeof handler === 'function' ? marked(tracedHandler(handler as AnyHandler, telemetry)) : handler
  checkedFor(instrument, () => checkNotInstrumented(on, onUnhandled, onDelivery))

  const wrapped = {
    on: isPlain(on) ? mapped(on, trace) : on,
    ...(onUnhandled === undefined ? {} : { onUnhandled: trace(onUnhandled) }),
    onDelivery: marked(withTelemetry(onDelivery, meters)),
  }
  return { ...options, ...(wrapped as object) }
}

/** Marks the functions that instrument made, for other copies of the package too: an app may load it as ESM and as CommonJS. */
const MADE = Symbol.for('tix-webhooks.instrumented')

function marked<F>(wrapper: F): F {
  if (typeof wrapper === 'function') Object.defineProperty(wrapper, MADE, { value: true })
  return wrapper
}

function checkNotInstrumented(on: unknown, ...functions: unknown[]): void {
  const handlers: unknown[] = isPlain(on) ? Object.values(on) : []
  if ([...handlers, ...functions].some((one) => typeof one === 'function' && Object.hasOwn(one, MADE))) {
    throw new TypeError(
      'These options are instrumented already, and each delivery would be counted twice. Call instrument once.',
    )
  }
}

function checked(given: TelemetryOptions): TelemetryOptions {
  const options = checkOptionNames(given, ['tracerProvider', 'meterProvider', 'accounts'])
  for (const [name, method] of [
    ['tracerProvider', 'getTracer'],
    ['meterProvider', 'getMeter'],
  ] as const) {
    const provider = options[name] as unknown as Readonly<Record<string, unknown>> | null | undefined
    if (provider !== undefined && typeof provider?.[method] !== 'function') {
      throw new TypeError(`${name} must have a method ${method}, not be ${describeType(provider)}.`)
    }
  }
  const { accounts } = options
  if (accounts !== undefined && typeof accounts !== 'boolean') {
    throw new TypeError(`accounts must be true or false, not ${describeType(accounts)}.`)
  }
  return options
}

type OnDelivery<Request> = WebhookOptions<Request>['onDelivery']

function withTelemetry<Request>(onDelivery: OnDelivery<Request>, meters: Meters): OnDelivery<Request> {
  // The receiver logs the kinds that nobody wants if nothing else reports them; a metric may have no provider.
  if (onDelivery === undefined) {
    return Object.assign((record: DeliveryRecord) => meters.count(record), { isTelemetry: true })
  }
  if (typeof onDelivery !== 'function') return onDelivery
  return (record, ctx) => {
    meters.count(record)
    return onDelivery(record, ctx)
  }
}

/** Anything else is passed on unchanged, so that it is refused. */
function isPlain(on: unknown): on is object {
  return isRecord(on) && isPlainObject(on)
}

function mapped(on: object, change: (handler: unknown) => unknown): never {
  return Object.fromEntries(Object.entries(on).map(([key, handler]) => [key, change(handler)])) as never
}

/**
 * The kinds that a metric may name: those of `schemas`, and those of the service that `on` names, by themselves or by their group. Other
 * kinds in a group are not named: the sender could create any number of series.
 */
function namedKinds(on: unknown, schemas: unknown): ReadonlySet<string> {
  const keys = ownKeys(on)
  const own = ownKeys(schemas)
  const isNamed = (kind: string): boolean =>
    keys.some((key) => key === kind || (key.endsWith('.*') && kind.startsWith(key.slice(0, -1))))
  return new Set([...own, ...EVENT_KINDS.filter(isNamed)])
}

function ownKeys(record: unknown): string[] {
  if (typeof record !== 'object' || record === null) return []
  return Object.keys(record).filter((key) => record[key as keyof typeof record] !== undefined)
}
