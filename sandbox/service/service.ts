import { setMaxListeners } from 'node:events'
import type { SignatureOptions } from 'tix-webhooks'
import { Account } from '../domain/account.js'
import type { Mode } from '../domain/mode.js'
import { Engine } from '../engine/engine.js'
import type { SandboxChange } from '../engine/engine-parts.js'
import type { Send } from '../engine/network/send.js'
import { Random } from '../lib/random.js'
import { VirtualClock } from '../time/clock.js'
import { ApiFaults } from './api-faults.js'
import { type Assumptions, assume } from './assumptions.js'
import { type ChaosProbabilities, chaos } from './chaos.js'

/** The parts of the service, from valid options. */
export interface ServiceParts {
  readonly startMs?: number | undefined
  readonly frozen?: boolean | undefined
  readonly seed?: number | undefined
  readonly send: Send
  /** @throws TypeError if nothing can be sent there */
  readonly checkUrl?: ((url: string) => void) | undefined
  /** The secret of an endpoint that is given none. */
  readonly secret?: string | undefined
  readonly assumptions?: Assumptions
  /** Seconds after the first attempt. */
  readonly schedule?: readonly number[] | undefined
  readonly jitter?: number | undefined
  readonly timeoutSeconds?: number | undefined
  readonly serial?: boolean | undefined
  readonly chaos?: ChaosProbabilities | undefined
  readonly lenient?: boolean | undefined
  /** Signs by the virtual time, for a receiver that was given the sandbox's clock. */
  readonly signsVirtually?: boolean | undefined
  readonly publicUrl: () => string
  readonly onError?: ((error: unknown) => void) | undefined
}

/** A webhook that is not sent yet. */
export interface Emission {
  readonly mode: Mode
  readonly type: string
  readonly data: object
  /** The bytes that are sent, of an envelope that was captured. */
  readonly body?: string
}

const SIGNED_CONTENT: Record<Assumptions['signature'], NonNullable<SignatureOptions['signedContent']>> = {
  dot: 'dot',
  concat: 'concat',
  body: (_t, body) => body,
}

/** The message of a closed sandbox. */
export const CLOSED = 'The sandbox is closed: create another one.'

/** A change in a sandbox. `state` is a change of an account's data. */
export type ServiceChange = SandboxChange | { readonly what: 'clock' } | { readonly what: 'state' }

/** The attempts of an advance by their end, as they end. */
export type AdvanceCounts = Record<'delivered' | 'failed', number>

/** The ticketing service as a whole, without its HTTP interface: two accounts, the deliveries, and their time. */
export class Service {
  readonly clock: VirtualClock
  readonly random: Random
  readonly engine: Engine
  readonly assumptions: Assumptions
  /** How its webhooks are signed: the receiver's own option. */
  readonly signature: SignatureOptions
  /** The time of their `t`, in milliseconds since the epoch. */
  readonly signingNow: () => number
  readonly accounts: Readonly<Record<Mode, Account>>
  /** The faults of the API that the user added. */
  readonly faults = new ApiFaults(() => this.changed({ what: 'state' }))
  /** The advances in progress, the latest last. */
  readonly advances = new Set<AdvanceCounts>()
  readonly #listeners = new Set<(change: ServiceChange) => void>()
  readonly #start: Pick<ServiceParts, 'startMs' | 'frozen'>
  readonly #empty: { readonly test: unknown; readonly live: unknown; readonly random: readonly number[] }
  #captured: Emission[] | undefined
  readonly #closing = new AbortController()

  constructor(parts: ServiceParts) {
    // Each request that waits for an answer listens to it.
    setMaxListeners(0, this.closing)
    this.#start = { startMs: parts.startMs, frozen: parts.frozen }
    this.assumptions = parts.assumptions ?? assume()
    this.clock = new VirtualClock({ ...this.#start, onError: parts.onError })
    this.random = new Random(parts.seed)
    this.signature = { signedContent: SIGNED_CONTENT[this.assumptions.signature] }
    this.signingNow = parts.signsVirtually ? this.clock.now : Date.now
    this.engine = new Engine({
      clock: this.clock,
      random: this.random,
      send: parts.send,
      secret: parts.secret,
      signature: this.signature,
      signingNow: this.signingNow,
      ...(parts.checkUrl && { checkUrl: parts.checkUrl }),
      ...(parts.schedule && { schedule: parts.schedule }),
      ...(parts.jitter !== undefined && { jitter: parts.jitter }),
      ...(parts.timeoutSeconds !== undefined && { timeoutSeconds: parts.timeoutSeconds }),
      networkErrors: this.assumptions['network-error'],
      createdAt: this.assumptions['created-at'],
      serial: parts.serial ?? false,
      ...(parts.chaos && { chaos: chaos(parts.chaos, this) }),
      onChange: (change) => this.changed(change),
    })
    const account = (mode: Mode): Account =>
      new Account({
        clock: this.clock,
        random: this.random,
        lenient: parts.lenient ?? false,
        publicUrl: parts.publicUrl,
        emit: (type, data) => this.#emit({ mode, type, data }),
        onChange: () => this.changed({ what: 'state' }),
      })
    this.accounts = { test: account('test'), live: account('live') }
    const { test, live } = this.accounts
    this.#empty = { test: test.snapshot(), live: live.snapshot(), random: this.random.state }
  }

  /**
   * Drops all data and deliveries, aborts the requests in flight, and restarts its time. Endpoints stay. With a seed the ids
   * repeat; without one they do not, because a receiver that goes on running would take new events for duplicates.
   */
  reset(): void {
    this.clock.restart(this.#start)
    this.engine.reset({ keepEndpoints: true })
    this.accounts.test.restore(this.#empty.test)
    this.accounts.live.restore(this.#empty.live)
    this.random.restore(this.#empty.random)
    this.faults.clear()
  }

  /** Aborts when the service is closed, because no request waits for an answer any more. */
  get closing(): AbortSignal {
    return this.#closing.signal
  }

  /** Fires no timer any more, and ends all waiting. Attempts in flight go on until the engine is closed. */
  close(): void {
    this.#closing.abort()
    this.clock.close()
  }

  /** Runs the work, and captures the webhooks that it would send. */
  capture<Result>(work: () => Result): { result: Result; emissions: readonly Emission[] } {
    const outer = this.#captured
    const emissions: Emission[] = []
    this.#captured = emissions
    try {
      return { result: work(), emissions }
    } finally {
      this.#captured = outer
    }
  }

  /** Calls back on each change, until the function that it gives is called. */
  subscribe(listener: (change: ServiceChange) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Tells those who follow what happens here. */
  changed(change: ServiceChange): void {
    for (const listener of this.#listeners) listener(change)
  }

  #emit(emission: Emission): void {
    if (this.#captured === undefined) this.engine.publish(emission)
    else this.#captured.push(emission)
  }
}
