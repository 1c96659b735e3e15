import {
  type Attributes,
  type Context,
  context,
  type Exception,
  ProxyTracerProvider,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  type TracerProvider,
  trace,
} from '@opentelemetry/api'
import { type Account, type AnyEvent, type Handler, type HandlerContext, redactError } from '../src/index.js'
import { codeOf, settled } from '../src/internal.js'
import type { Meters } from './meters.js'
import { ATTRIBUTES, SCOPE, SYSTEM, spanName } from './names.js'
import { safely } from './safely.js'

/** The longest kind in the name of a span: one that `onUnhandled` gets may be as long as a body. */
const MAX_KIND_CHARS = 255

/** A handler of any event, in any transaction. */
export type AnyHandler = Handler<AnyEvent, unknown>

export interface Telemetry {
  readonly tracerProvider: TracerProvider | undefined
  readonly meters: Meters
  /** Milliseconds since the epoch. */
  readonly now: () => number
  /** The `maxRunSeconds` of the receiver. */
  readonly maxRunSeconds: number
}

/** The handler in a span. Without a result that could be a failure it returns synchronously, because a promise costs an await. */
export function tracedHandler(handler: AnyHandler, telemetry: Telemetry): AnyHandler {
  const traced: AnyHandler = (event, ctx) => {
    const run = safely(() => Run.start(event, ctx, telemetry))
    return run === undefined ? handler(event, ctx) : run.follow(handler, event, ctx)
  }
  // It keeps the prototype, so that the receiver still recognizes and refuses a generator function, which nothing would run.
  return Object.setPrototypeOf(traced, Object.getPrototypeOf(handler))
}

/** One run of a handler, from its start to its end, however late. */
class Run {
  private readonly startedAtMs = performance.now()
  private isEnded = false
  private givingUp: ReturnType<typeof setTimeout> | undefined

  private constructor(
    private readonly telemetry: Telemetry,
    private readonly event: AnyEvent,
    private readonly span: Span | undefined,
    private readonly active: Context,
  ) {}

  /** Returns undefined while nothing is registered, so that the handler is called as if it were not wrapped. */
  static start(event: AnyEvent, ctx: HandlerContext, telemetry: Telemetry): Run | undefined {
    // A tracer that fails must not cost the metrics.
    const tracer = safely(() => tracerOf(telemetry.tracerProvider))
    if (tracer === undefined && !telemetry.meters.isOn) return undefined
    const parent = context.active()
    const span = safely(() => tracer && startSpan(tracer, event, ctx, parent))
    const active = span === undefined ? parent : trace.setSpan(parent, span)
    const run = new Run(telemetry, event, span, active)
    // The signal is created when it is first read: so only if it is used.
    if (safely(() => span?.isRecording()) || telemetry.meters.isOn) safely(() => run.watch(ctx.signal))
    return run
  }

  /** Calls the handler once, whatever the context manager does, and ends with it. */
  follow(handler: AnyHandler, event: AnyEvent, ctx: HandlerContext): unknown {
    let result: (() => unknown) | undefined
    const call = (): void => {
      result ??= this.called(handler, event, ctx)
    }
    safely(() => context.with(this.active, call))
    call()
    return result?.()
  }

  /** Calls the handler. Returns a function that returns or throws as the handler did. */
  private called(handler: AnyHandler, event: AnyEvent, ctx: HandlerContext): () => unknown {
    try {
      const returned = handler(event, ctx)
      // A result is judged in here, as the receiver does it: the span of a query builder that starts when it is awaited belongs below this one.
      if ((typeof returned === 'object' && returned !== null) || typeof returned === 'function') {
        const ended = this.ended(returned)
        return () => ended
      }
      this.end('handled')
      return () => returned
    } catch (thrown) {
      this.endWith(thrown)
      return () => {
        throw thrown
      }
    }
  }

  private async ended(returned: unknown): Promise<void> {
    try {
      await settled(returned, this.event.type)
      this.end('handled')
    } catch (thrown) {
      this.endWith(thrown)
      throw thrown
    }
  }

  /** A run that is given up may never settle, and its span would be lost. */
  private watch(signal: AbortSignal): void {
    const aborted = (): void => {
      const { reason } = signal
      const giveUp = (): void => this.end('timed_out', 'given_up', reason)
      if (codeOf(reason) === 'given_up') giveUp()
      else this.giveUpLater(giveUp)
    }
    signal.addEventListener('abort', aborted, { once: true })
  }

  /** After a lease or a connection is lost, the run goes on, but its signal aborts only once, and cannot report that the run is given up. */
  private giveUpLater(giveUp: () => void): void {
    if (this.isEnded) return
    const ranMs = performance.now() - this.startedAtMs
    this.givingUp = setTimeout(giveUp, this.telemetry.maxRunSeconds * 1000 - ranMs)
    // Workers' timers are plain numbers.
    this.givingUp.unref?.()
  }

  private endWith(thrown: unknown): void {
    const code = codeOf(thrown)
    if (code === 'retry_later') this.end('retry_later')
    else if (code === 'discarded') this.end('discarded')
    else this.end('failed', errorTypeOf(thrown), thrown)
  }

  /** Ends once, by whatever comes first. */
  private end(outcome: string, errorType?: string, error?: unknown): void {
    if (this.isEnded) return
    this.isEnded = true
    clearTimeout(this.givingUp)
    const { span, event, telemetry, startedAtMs } = this
    safely(() => {
      span?.setAttribute(ATTRIBUTES.outcome, outcome)
      if (span === undefined || errorType === undefined) return
      span.setAttribute('error.type', errorType)
      span.setStatus({ code: SpanStatusCode.ERROR })
      span.recordException(redactError(error) as Exception)
    })
    safely(() => span?.end())
    safely(() => {
      if (!telemetry.meters.isOn) return
      const durationSeconds = (performance.now() - startedAtMs) / 1000
      const ageSeconds = Math.max(0, telemetry.now() - Date.parse(event.created_at)) / 1000
      telemetry.meters.measure({ kind: event.type, outcome, errorType, durationSeconds, ageSeconds })
    })
  }
}

/** The tracer of the given provider, or of the registered one; undefined if there is none. Asked for at each run: a provider may come late. */
function tracerOf(given: TracerProvider | undefined): Tracer | undefined {
  const provider = given ?? trace.getTracerProvider()
  // The global provider is a proxy: its delegate is undefined until a provider is registered.
  return provider instanceof ProxyTracerProvider
    ? provider.getDelegateTracer(SCOPE)
    : provider.getTracer(SCOPE)
}

function startSpan(tracer: Tracer, event: AnyEvent, ctx: HandlerContext, parent: Context): Span {
  const kind = event.type.slice(0, MAX_KIND_CHARS)
  const options = { kind: SpanKind.CONSUMER, attributes: attributesOf(kind, ctx) }
  return tracer.startSpan(spanName(kind), options, parent)
}

function attributesOf(kind: string, { key, attempt, account, replayed }: HandlerContext): Attributes {
  const attributes: Attributes = {
    ...SYSTEM,
    'messaging.operation.type': 'process',
    'messaging.destination.name': kind,
  }
  if (key !== null) attributes['messaging.message.id'] = key
  if (attempt !== undefined) attributes[ATTRIBUTES.attempt] = attempt
  if (account !== undefined) attributes[ATTRIBUTES.account] = (account as Account).id
  if (replayed) attributes[ATTRIBUTES.replayed] = true
  return attributes
}

/** The name of the error's class. Anything but a plain name becomes `_OTHER`: each name makes a metric series. */
function errorTypeOf(thrown: unknown): string {
  const name: unknown = safely(() => (thrown as Partial<Error> | null | undefined)?.name)
  return typeof name === 'string' && /^[\w$.]{1,64}$/.test(name) ? name : '_OTHER'
}
