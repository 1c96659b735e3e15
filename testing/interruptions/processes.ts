import { describeType, messageOf } from '../../src/internal.js'
import { areMicrotasksFake } from '../deliveries/streamed-body.js'
import type { AnyAnswer } from '../retries/retries.js'
import type { Call } from './faults.js'
import { Leases } from './leases.js'
import { Membrane } from './membrane.js'
import { ProcessLife } from './process-life.js'
import type { AnyDelivery, RunContext, RunParts, StartedProcess } from './run-parts.js'

interface Running<Delivery extends AnyDelivery> {
  readonly life: ProcessLife
  readonly send: StartedProcess<Delivery>['send']
  readonly close: () => unknown
}

/** Any URL: there is only one handler. */
const URL_OF_HANDLER = 'http://localhost/hooks'

/** The processes of a run, one after the other: the first is due the fault, and the next one starts when it has died. */
export class Processes<World extends object, Delivery extends AnyDelivery> {
  /** The error of `start`, which no retry can fix. */
  startError: { readonly error: unknown } | undefined
  /** Whether the last answer says that another delivery of the event was running. */
  wasInFlight = false
  private readonly leases = new Leases()
  private readonly lives: ProcessLife[] = []
  private running: Running<Delivery> | undefined
  /** Whether a process has read the clock: otherwise it knows only the real time. */
  private readsClock = false

  constructor(
    private readonly world: World,
    private readonly start: RunParts<World, Delivery>['start'],
    private readonly context: RunContext,
  ) {}

  /** The calls of the first process. */
  get calls(): readonly Call[] {
    return this.lives[0]?.calls ?? []
  }

  get isInterrupted(): boolean {
    return this.lives[0]?.isInterrupted === true
  }

  /**
   * Sends one attempt to the process that runs, or to a new one.
   *
   * @throws Error when the process dies, or whatever its `send` rejects with
   */
  async send(delivery: Delivery): Promise<AnyAnswer> {
    const { clock, story } = this.context
    await this.leases.end(clock.now())
    this.running ??= await this.open()
    const { life, send } = this.running
    const signed = this.readsClock ? delivery : await delivery.signAgain({ now: Date.now })
    const end = await untilDeath(life, () => send(signed))
    const answered = 'value' in end ? await describeAnswer(end.value) : ''
    this.wasInFlight = answered.includes(`{"outcome":"in_flight"}`)
    if ('value' in end) story.note(`answered ${answered}`)
    else if ('error' in end) story.note(`send rejected: ${messageOf(end.error)}`)
    // The call at which it dies may be one that the handler does not wait for, and what it has answered by then is known to the sender.
    await life.idle()
    if (!life.isAlive) await this.end()
    if ('value' in end) return end.value as AnyAnswer
    throw 'error' in end ? end.error : new Error('The process died.')
  }

  /** Ends the process that runs. */
  async end(): Promise<void> {
    const { running } = this
    this.running = undefined
    if (running === undefined) return
    running.life.end()
    await running.life.close(running.close)
  }

  private async open(): Promise<Running<Delivery>> {
    if (this.startError !== undefined) throw this.startError.error
    const { clock, story, fault } = this.context
    const number = this.lives.length + 1
    story.note(`process ${number} starts`)
    const life = new ProcessLife({
      story,
      leases: this.leases,
      now: clock.now,
      ...(number === 1 && { fault }),
    })
    this.lives.push(life)
    const shown = new Membrane(life).show(this.world)
    const now = (): number => {
      this.readsClock = true
      return clock.now()
    }
    const started = await untilDeath(life, () => this.start(shown, { clock, now }))
    if (!life.isAlive || 'hasDied' in started) {
      await life.close(undefined)
      throw new Error('The process died.')
    }
    try {
      if ('error' in started) throw started.error
      return { life, ...processOf<Delivery>(started.value) }
    } catch (error) {
      life.end()
      await life.close(undefined)
      this.startError = { error }
      throw error
    }
  }
}

const DIED = { hasDied: true } as const
type End = { readonly value: unknown } | { readonly error: unknown } | typeof DIED

/** Runs code of a process. If it dies before the end, the result is lost. */
async function untilDeath(life: ProcessLife, act: () => unknown): Promise<End> {
  const result = life
    .inside(async () => act())
    .then(
      (value): End => ({ value }),
      (error): End => ({ error }),
    )
  return Promise.race([result, life.died.then((): End => DIED)])
}

function processOf<Delivery extends AnyDelivery>(started: unknown): Omit<Running<Delivery>, 'life'> {
  if (typeof started === 'function') {
    return {
      send: ({ toRequest }) => started(toRequest(URL_OF_HANDLER)) as Promise<Response>,
      close: () => {},
    }
  }
  const { send, close } = (started ?? {}) as Partial<StartedProcess<Delivery>>
  if (typeof send !== 'function') {
    throw new TypeError(
      `start must return a fetch handler, or { send(delivery), close() } for any other framework, not ${describeType(started)}.`,
    )
  }
  return {
    send: (delivery) => send.call(started, delivery),
    close: () => close?.call(started as StartedProcess<Delivery>),
  }
}

/** The status, and the beginning of the text if the client has it. */
async function describeAnswer(answer: unknown): Promise<string> {
  const { status, statusCode = status, payload, text } = (answer ?? {}) as Record<string, unknown>
  // If queueMicrotask is fake, reading a body never ends.
  const isUnread = answer instanceof Response && !answer.bodyUsed && !areMicrotasksFake()
  const body = isUnread ? await answer.text() : (payload ?? text)
  return typeof body === 'string' ? `${statusCode} ${body.slice(0, 200)}` : String(statusCode)
}
