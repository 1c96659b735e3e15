import { Attempts } from './attempts.js'
import { Concurrency } from './concurrency.js'
import { Dispatcher } from './dispatcher.js'
import type { Endpoint, EndpointInput, EndpointPatch } from './endpoint.js'
import { Endpoints } from './endpoints.js'
import { type EngineParts, type EngineSettings, engineSettings, type SandboxChange } from './engine-parts.js'
import { Generators } from './generators.js'
import type { DeliveryFilter } from './record/delivery-filter.js'
import { DeliveryGone } from './record/delivery-gone.js'
import { DeliveryLog, type Tally } from './record/delivery-log.js'
import { deliveriesOf, listDeliveries, type NextAttempt, nextAttempt } from './record/delivery-queries.js'
import { type MessageInput, Messages } from './record/messages.js'
import type { Attempt, Delivery, DeliveryStatus, Message } from './record/records.js'
import { fromSnapshot, toSnapshot } from './record/snapshot.js'
import { deliverScenario, type ScenarioRequests } from './scenario-delivery.js'

/** Delivers messages to endpoints. It knows nothing of their content. */
export class Engine {
  readonly #settings: EngineSettings
  readonly #generators: Generators
  readonly #log = new DeliveryLog()
  readonly #endpoints: Endpoints
  readonly #messages: Messages
  readonly #attempts: Attempts
  readonly #concurrency: Concurrency
  readonly #dispatcher: Dispatcher

  /** @throws TypeError if an option is invalid */
  constructor(parts: EngineParts) {
    const settings = engineSettings(parts)
    const generators = new Generators(parts.random)
    this.#settings = settings
    this.#generators = generators
    this.#endpoints = new Endpoints({ ...settings, random: generators.endpoints })
    this.#messages = new Messages(settings.clock, generators.ids, settings.createdAt)
    this.#attempts = new Attempts({ ...settings, random: generators.attempts })
    this.#concurrency = new Concurrency(settings.serial)
    this.#dispatcher = new Dispatcher({
      ...settings,
      ...this.#notifiers,
      random: generators.ids,
      log: this.#log,
      endpoints: this.#endpoints,
      attempts: this.#attempts,
      concurrency: this.#concurrency,
    })
  }

  /** @throws TypeError that names what is wrong with it */
  createEndpoint(input: EndpointInput): Endpoint {
    const endpoint = this.#endpoints.create(input)
    this.#notify({ what: 'endpoints' })
    return endpoint
  }

  /** The oldest first. */
  endpoints(): readonly Endpoint[] {
    return this.#endpoints.list()
  }

  endpoint(id: string): Endpoint | undefined {
    return this.#endpoints.get(id)
  }

  /** If it is disabled, the deliveries that wait for it are skipped. @throws TypeError that names what is wrong with it */
  updateEndpoint(id: string, patch: EndpointPatch): Endpoint | undefined {
    const endpoint = this.#endpoints.update(id, patch)
    if (endpoint === undefined) return undefined
    if (!endpoint.enabled) this.#dispatcher.skip(id, 'The endpoint was disabled.')
    this.#notify({ what: 'endpoints' })
    return endpoint
  }

  /**
   * A new secret, or the given one, beside which the one before signs too. With `keepOld: false` it signs alone, at once; so a
   * rotation is ended by rotating to the secret that is the newest already.
   *
   * @throws TypeError that names what is wrong with it
   */
  rotateSecret(id: string, rotation: { secret?: string; keepOld?: boolean } = {}): Endpoint | undefined {
    const endpoint = this.#endpoints.rotate(id, rotation)
    if (endpoint !== undefined) this.#notify({ what: 'endpoints' })
    return endpoint
  }

  /** Its deliveries stay in the log; those that waited are skipped. */
  removeEndpoint(id: string): boolean {
    if (!this.#endpoints.remove(id)) return false
    this.#dispatcher.skip(id, 'The endpoint was removed.')
    this.#concurrency.forget(id)
    this.#notify({ what: 'endpoints' })
    return true
  }

  /** Makes the message, whose bytes and `created_at` never change again, and delivers it to each endpoint that subscribes to its kind. */
  publish(input: MessageInput): Message {
    const message = this.createMessage(input)
    for (const endpoint of this.subscribersOf(message)) this.#dispatcher.take(message, endpoint)
    return message
  }

  /** The endpoints that subscribe to the kind of a message, those that are disabled too. */
  subscribersOf({ mode, type }: Pick<Message, 'mode' | 'type'>): readonly Endpoint[] {
    return this.#endpoints.subscribersOf(mode, type)
  }

  /** Makes a message without delivering it, for `deliverScenario`. */
  createMessage(input: MessageInput): Message {
    const message = this.#messages.make(input)
    this.#notify({ what: 'message', message })
    return message
  }

  /**
   * Sends the requests of a scenario, once, as one delivery of the message. Resolves when all are answered.
   *
   * @param to the id of an endpoint, or a URL that need not be of one
   * @throws Error if there is no such endpoint; TypeError if that is no URL
   */
  async deliverScenario(
    to: string | { readonly url: string },
    message: Message,
    scenario: ScenarioRequests,
  ): Promise<Delivery> {
    const target = this.#endpoints.target(to)
    const { clock } = this.#settings
    const parts = {
      ...this.#notifiers,
      ...{ clock, random: this.#generators.ids, log: this.#log, attempts: this.#attempts },
    }
    return clock.during(() => deliverScenario(parts, target, message, scenario))
  }

  /** The newest first. */
  deliveries(filter?: DeliveryFilter): readonly Delivery[] {
    return listDeliveries(this.#log, filter)
  }

  /** The deliveries of a message that was just published, in the order of the endpoints. */
  deliveriesOf({ id }: Pick<Message, 'id'>): readonly Delivery[] {
    return deliveriesOf(this.#log, id)
  }

  delivery(id: string): Delivery | undefined {
    return this.#log.get(id)?.delivery
  }

  /** When a delivery is tried from now on, in virtual milliseconds, as long as each attempt fails at once. */
  plannedAttempts(id: string): readonly number[] {
    const tracked = this.#log.get(id)
    return tracked === undefined ? [] : this.#dispatcher.planned(tracked)
  }

  /** The delivery whose attempt is due next, and when; undefined if none waits. */
  nextAttempt(): NextAttempt | undefined {
    return nextAttempt(this.#log)
  }

  /** Counts the deliveries that a filter finds, and those no longer kept that it may have missed. */
  tally(filter?: Omit<DeliveryFilter, 'limit'>): Tally {
    return this.#log.tally(filter)
  }

  /** How many deliveries of each status there have been, including those no longer kept. */
  totals(): Readonly<Record<DeliveryStatus, number>> {
    return this.#log.totals
  }

  /** How many of the delivered ones are parked, those that are no longer kept included. */
  parked(): number {
    return this.#log.parked
  }

  /** How many deliveries of each status the log has. */
  counts(): Readonly<Record<DeliveryStatus, number>> {
    return this.#log.counts
  }

  /**
   * Sends the same bytes again, at once, to its endpoint or another URL, with a new signature. A success at its endpoint ends the
   * delivery; one elsewhere is recorded and changes nothing, and so is a failure.
   *
   * @throws DeliveryGone if there is no such delivery, or its endpoint was removed; TypeError if that is no URL
   */
  async resend(id: string, { to }: { to?: string } = {}): Promise<Attempt> {
    const tracked = this.#log.get(id)
    if (tracked === undefined) throw DeliveryGone.forgotten(id)
    if (to !== undefined) this.#endpoints.checkTarget(to)
    return this.#settings.clock.during(() =>
      this.#concurrency.run(tracked.delivery.endpointId, () => this.#dispatcher.resend(tracked, to)),
    )
  }

  /** Aborts when the requests that are in flight are aborted. */
  get inFlight(): AbortSignal {
    return this.#attempts.inFlight
  }

  /** Stops sending, and aborts the requests in flight. */
  close(): void {
    this.#attempts.close()
  }

  /** Plain JSON, from which `restore` makes the same deliveries and endpoints. */
  snapshot(): unknown {
    return toSnapshot({
      latestMessageMs: this.#messages.latestMs,
      random: this.#generators.state,
      endpoints: this.#endpoints.list(),
      deliveries: [...this.#log].reverse(),
      settled: this.#log.settledIds(),
      forgotten: this.#log.forgotten,
    })
  }

  /** Replaces all state. Deliveries that wait are due again, at once if they are overdue. @throws TypeError that says what is wrong */
  restore(snapshot: unknown): void {
    const state = fromSnapshot(snapshot)
    this.#generators.restore(state.random)
    this.#messages.restore(state.latestMessageMs)
    this.#endpoints.load(state.endpoints)
    const loaded = this.#log.load(state.deliveries, state.settled, state.forgotten)
    for (const tracked of loaded) this.#dispatcher.arm(tracked)
    this.#notify({ what: 'endpoints' })
  }

  /**
   * Drops all deliveries and aborts the requests in flight. With a seed the ids repeat from the start.
   *
   * @param keepEndpoints default false: they are forgotten too
   */
  reset({ keepEndpoints = false }: { keepEndpoints?: boolean } = {}): void {
    this.#log.clear()
    this.#concurrency.forgetAll()
    this.#attempts.breakOff()
    this.#messages.restore(null)
    this.#generators.restart({ keepEndpoints })
    if (!keepEndpoints) this.#endpoints.load([])
    this.#notify({ what: 'endpoints' })
  }

  get #notifiers() {
    return {
      onDelivery: (delivery: Delivery) => this.#notify({ what: 'delivery', delivery }),
      onAttempt: (delivery: Delivery, attempt: Attempt) =>
        this.#notify({ what: 'attempt', delivery, attempt }),
    }
  }

  #notify(change: SandboxChange): void {
    this.#settings.onChange(change)
  }
}
