import { inspect } from 'node:util'
import type { EventKind } from 'tix-webhooks'
import type { SandboxChange } from './engine/engine-parts.js'
import { createApp } from './http/app.js'
import { type Listening, listen, type ReservedPort, reservePort } from './http/server.js'
import { checkOptionNames } from './lib/option-names.js'
import { VERSION } from './lib/version.js'
import {
  clockOf,
  deliveriesOf,
  endpointsOf,
  faultsOf,
  type SandboxClock,
  type SandboxDeliveries,
  type SandboxEndpoints,
  type SandboxFaults,
} from './service/controls.js'
import { type Filled, type Fixtures, fill } from './service/fill.js'
import type { SandboxOptions } from './service/options.js'
import type { SandboxAccount } from './service/sandbox-account.js'
import { CLOSED, Service } from './service/service.js'
import { readSettings } from './service/settings.js'
import { restore, snapshotOf } from './service/state/snapshot.js'
import { readStateFile, StateFile, unusable } from './service/state/state-file.js'
import { lockState, type StateLock } from './service/state/state-lock.js'
import type { NewEndpoint } from './service/subscriptions.js'
import { firstAnswers } from './service/trigger/first-answers.js'
import { TRIGGER_OPTIONS, type Triggered, type TriggerOptions, trigger } from './service/trigger/trigger.js'

/** The ticketing service, on your machine. */
export interface Sandbox {
  /** Its base address: once it listens, the one it listens at. */
  readonly url: string
  /** Its whole HTTP interface, in process: a path such as `/v2/events`, or a `Request`. */
  fetch(input: string | URL | Request, init?: RequestInit): Promise<Response>
  /**
   * Serves it on a port, for other processes.
   *
   * @param at `port` by default any free one, `host` by default 127.0.0.1
   * @returns its base address
   * @throws Error if the port is taken, when it listens already, and when it is closed
   */
  listen(at?: { port?: number; host?: string }): Promise<string>
  /** The data that a test key sees, without HTTP. */
  readonly account: SandboxAccount
  readonly clock: SandboxClock
  readonly endpoints: SandboxEndpoints
  readonly deliveries: SandboxDeliveries
  readonly faults: SandboxFaults
  /**
   * Creates the order or event that a kind is about, and sends the webhook of that kind alone. Resolves when each endpoint has answered once: not before, so
   * do not await it in a handler that it calls.
   *
   * @throws Error that names what is wrong with the request
   */
  trigger(kind: EventKind | (string & {}), options?: TriggerOptions): Promise<Triggered>
  /** Fills an account from fixtures, all or nothing, without webhooks. @throws Error that names the place in them */
  fill(fixtures: Fixtures): Filled
  /** Resolves when all that is due has been answered. */
  settled(): Promise<void>
  /** Drops all data and deliveries, aborts the requests in flight, and restarts its time. Endpoints stay. */
  reset(): void
  /** Calls back with each message, delivery and attempt. Returns a function that ends this. */
  subscribe(listener: (change: SandboxChange) => void): () => void
  /** Stops: no attempt begins any more, those in flight are aborted, the port is free, the state is written. */
  close(): Promise<void>
}

/**
 * Makes a local stand-in of the ticketing service: its whole API, and webhooks that are signed, delivered, and retried for 72 hours
 * of a time that you can fast-forward. It opens no port until you tell it to listen.
 *
 * @throws TypeError that names the invalid option; Error if the state file cannot be used or is in use by another sandbox, and in jsdom
 * @example
 * ```ts
 * import { tixWebhooks } from 'tix-webhooks/fetch'
 * import { createSandbox } from 'tix-webhooks-sandbox'
 *
 * const secret = 'whsec_test'
 * let failures = 3
 * const POST = tixWebhooks({ secret, onError: () => {}, on: { 'order.created': () => { if (failures-- > 0) throw new Error('not yet') } } })
 *
 * const sandbox = createSandbox({ secret, deliver: POST })
 * await sandbox.trigger('order.created')
 * await sandbox.clock.advance('72h')
 * console.assert(sandbox.deliveries.list()[0]?.status === 'delivered')
 * await sandbox.close()
 * ```
 */
export function createSandbox(options: SandboxOptions = {}): Sandbox {
  return new RunningSandbox(options, process.cwd())
}

export { type ReservedPort, reservePort }

/**
 * Makes a sandbox that serves a port from the start. The port is held before anything is restored, sent or written, so that a start
 * that is refused leaves a sandbox that is running, and its state file, as they are.
 *
 * @param port closed with the sandbox, and left open when this throws
 * @param folder the one that it was started in
 * @throws what `createSandbox` throws
 */
export function createSandboxOn(port: ReservedPort, folder: string, options: SandboxOptions): Sandbox {
  return new RunningSandbox(options, folder, port)
}

/** The URL of a sandbox that does not listen: its name resolves only to this machine. */
const IN_PROCESS_URL = 'http://sandbox.localhost'

class RunningSandbox implements Sandbox {
  readonly #service: Service
  readonly #app: ReturnType<typeof createApp>
  readonly #stateFile: StateFile | undefined
  readonly #lock: StateLock | undefined
  #server: Promise<Listening> | undefined
  #url = IN_PROCESS_URL
  readonly account: SandboxAccount
  readonly clock: SandboxClock
  readonly endpoints: SandboxEndpoints
  readonly deliveries: SandboxDeliveries
  readonly faults: SandboxFaults

  constructor(options: SandboxOptions, folder: string, port?: ReservedPort) {
    const settings = readSettings(options)
    const { stateFile, onWarning } = settings
    const onError = (error: unknown): void => onWarning(`The sandbox failed. ${inspect(error)}`)
    const service = new Service({ ...settings, onError, publicUrl: () => this.#url })
    this.#service = service
    this.#app = createApp(service, {
      ...settings,
      url: () => this.#url,
      reset: () => service.reset(),
      version: VERSION,
      folder,
    })
    if (port !== undefined) {
      this.#server = Promise.resolve(port)
      this.#url = port.url
    }
    let lock: StateLock | undefined
    try {
      if (stateFile !== undefined) {
        lock = lockState(stateFile, port?.url)
        resume(service, stateFile)
      }
      addEndpoints(service, settings.endpoints)
      this.#stateFile = stateFile === undefined ? undefined : keepState(service, stateFile, onWarning)
    } catch (error) {
      // Nobody gets this sandbox, so nobody could close it: what was restored must not be sent.
      service.close()
      service.engine.close()
      lock?.release()
      throw error
    }
    this.#lock = lock
    // An event always has a tier: its schema checks that, but its type does not say so.
    this.account = service.accounts.test as unknown as SandboxAccount
    this.clock = clockOf(service)
    this.endpoints = endpointsOf(service)
    this.deliveries = deliveriesOf(service)
    this.faults = faultsOf(service)
    port?.serve(this.#app)
  }

  get url(): string {
    return this.#url
  }

  async fetch(input: string | URL | Request, init?: RequestInit): Promise<Response> {
    const request =
      input instanceof Request ? new Request(input, init) : new Request(new URL(input, this.#url), init)
    let isDropped = false
    const drop = (): void => {
      isDropped = true
    }
    const response = await this.#app.fetch(request, { drop })
    if (isDropped) throw droppedConnection()
    return response
  }

  async listen(at: { port?: number; host?: string } = {}): Promise<string> {
    if (this.#service.closing.aborted) throw new Error(CLOSED)
    if (this.#server !== undefined) throw new Error(`The sandbox is already listening, at ${this.#url}.`)
    this.#server = listen(this.#app, at)
    try {
      this.#url = (await this.#server).url
      return this.#url
    } catch (error) {
      this.#server = undefined
      throw error
    }
  }

  async trigger(kind: string, options: TriggerOptions = {}): Promise<Triggered> {
    const triggered = await trigger(this.#service, { ...checkOptionNames(options, TRIGGER_OPTIONS), kind })
    return firstAnswers(this.#service, triggered)
  }

  fill(fixtures: Fixtures): Filled {
    return fill(this.#service, fixtures)
  }

  settled(): Promise<void> {
    return this.#service.clock.idle()
  }

  reset(): void {
    this.#service.reset()
  }

  subscribe(listener: (change: SandboxChange) => void): () => void {
    return this.#service.subscribe((change) => {
      if (change.what !== 'clock' && change.what !== 'state') listener(change)
    })
  }

  async close(): Promise<void> {
    this.#service.close()
    // `listen` has reported a port that failed.
    const server = await this.#server?.catch(() => undefined)
    await server?.close()
    // An attempt without an answer is written as waiting: the next sandbox makes it again.
    this.#stateFile?.close()
    this.#lock?.release()
    this.#service.engine.close()
  }
}

/** The error that `fetch` has for a connection that closed without an answer. */
function droppedConnection(): TypeError {
  const cause = Object.assign(new Error('other side closed'), { code: 'UND_ERR_SOCKET' })
  return new TypeError('fetch failed', { cause })
}

function resume(service: Service, path: string): void {
  const saved = readStateFile(path)
  if (saved === undefined) return
  try {
    restore(service, saved)
  } catch (error) {
    throw unusable(path, error)
  }
}

function keepState(service: Service, path: string, onWarning: (message: string) => void): StateFile {
  const file = new StateFile(path, { take: () => snapshotOf(service), onWarning })
  // Written at once: a path that cannot be written is reported now, and new secrets are kept for the next start.
  file.begin()
  service.subscribe(() => file.touch())
  return file
}

/** Adds the endpoints that are not in the state file yet. */
function addEndpoints({ engine }: Service, inputs: readonly NewEndpoint[]): void {
  const known = new Set(engine.endpoints().map(({ url, mode }) => `${mode} ${url}`))
  for (const input of inputs) {
    if (!known.has(`${input.mode ?? 'test'} ${input.url}`)) engine.createEndpoint(input)
  }
}
