import type { Endpoint } from '../engine/endpoint.js'
import { type DeliveryFilter, FILTER_NAMES } from '../engine/record/delivery-filter.js'
import type { Attempt, Delivery, DeliveryStatus } from '../engine/record/records.js'
import { checkOptionNames } from '../lib/option-names.js'
import { durationMs } from '../time/duration.js'
import { toEpochMs } from '../time/epoch.js'
import type { ApiFault, NewFault } from './api-faults.js'
import type { Service } from './service.js'
import { checkSubscriptions, type EndpointChanges, type NewEndpoint } from './subscriptions.js'

/** The virtual time, which drives the sale, the end of events, and the retries. */
export interface SandboxClock {
  /** Milliseconds since the epoch. Bound: pass it as it is, `now: sandbox.clock.now`. */
  readonly now: () => number
  readonly frozen: boolean
  /** When something is due next, in milliseconds since the epoch. */
  readonly nextAtMs: number | undefined
  /** Advances the time by `72h`, for example, or by milliseconds: runs everything that is due by then, and awaits the answers. */
  advance(duration: string | number): Promise<void>
  /** Advances to a moment. @throws RangeError if it is past */
  advanceTo(moment: Date | string | number): Promise<void>
  /** Advances to what is due next, and does it. */
  next(): Promise<void>
  freeze(): void
  run(): void
}

/** The endpoints, to which webhooks are sent. */
export interface SandboxEndpoints {
  /** @throws TypeError if the URL cannot be delivered to, or there are no such events */
  create(endpoint: NewEndpoint): Endpoint
  list(): readonly Endpoint[]
  get(id: string): Endpoint | undefined
  update(id: string, patch: EndpointChanges): Endpoint | undefined
  /** A new secret; the one before signs too, until `keepOld: false`. */
  rotate(id: string, rotation?: { secret?: string; keepOld?: boolean }): Endpoint | undefined
  remove(id: string): boolean
}

/** The deliveries, with their attempts. */
export interface SandboxDeliveries {
  /** The newest first. @throws TypeError if there is no such filter */
  list(filter?: DeliveryFilter): readonly Delivery[]
  get(id: string): Delivery | undefined
  /** How many there have been of each status: the list keeps the latest 1,000 that are done, this counts all since the last reset. */
  counts(): Readonly<Record<DeliveryStatus, number>>
  /** Sends the same bytes again, with a new signature. @throws Error if there is no such delivery */
  resend(id: string, options?: { to?: string }): Promise<Attempt>
}

/** Faults of the API on purpose: errors, delays and dropped connections, to test how your own client takes them. */
export interface SandboxFaults {
  /** @throws TypeError that says what is wrong with it */
  add(fault: NewFault): ApiFault
  /** The active faults, the oldest first: of several that match a request, the oldest hits it. */
  list(): readonly ApiFault[]
  /** @returns false if no fault has this id */
  remove(id: string): boolean
  /** Removes all of them. `reset` does, too. */
  clear(): void
}

export function clockOf(service: Service): SandboxClock {
  const { clock } = service
  const thenNotify = async (advance: Promise<unknown>): Promise<void> => {
    await advance
    service.changed({ what: 'clock' })
  }
  return {
    now: clock.now,
    get frozen() {
      return clock.isFrozen
    },
    get nextAtMs() {
      return clock.nextAt()
    },
    advance: async (duration) => thenNotify(clock.advanceBy(durationMs('duration', duration))),
    advanceTo: async (moment) => thenNotify(clock.advanceTo(toEpochMs('moment', moment))),
    next: () => thenNotify(clock.advanceToNext()),
    freeze() {
      clock.freeze()
      service.changed({ what: 'clock' })
    },
    run() {
      clock.run()
      service.changed({ what: 'clock' })
    },
  }
}

export function endpointsOf({ engine }: Service): SandboxEndpoints {
  return {
    create(endpoint) {
      checkSubscriptions(endpoint)
      return engine.createEndpoint(endpoint)
    },
    list: () => engine.endpoints(),
    get: (id) => engine.endpoint(id),
    update(id, patch) {
      checkSubscriptions(patch)
      return engine.updateEndpoint(id, patch)
    },
    rotate: (id, rotation) => engine.rotateSecret(id, rotation),
    remove: (id) => engine.removeEndpoint(id),
  }
}

export function faultsOf({ faults }: Service): SandboxFaults {
  return {
    add: (fault) => faults.add(fault),
    list: () => faults.list(),
    remove: (id) => faults.remove(id),
    clear: () => faults.clear(),
  }
}

export function deliveriesOf({ engine }: Service): SandboxDeliveries {
  return {
    list: (filter = {}) => engine.deliveries(checkOptionNames(filter, FILTER_NAMES)),
    get: (id) => engine.delivery(id),
    counts: () => engine.totals(),
    resend: async (id, options = {}) => engine.resend(id, checkOptionNames(options, ['to'])),
  }
}
