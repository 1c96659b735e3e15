import type { Random } from '../lib/random.js'
import type { Endpoint, EndpointInput, EndpointPatch } from './endpoint.js'
import { checkedInput, checkedPatch, checkedRotation, checkUrl } from './endpoint-rules.js'
import { matchesKind } from './kinds.js'
import type { ScenarioTarget } from './scenario-delivery.js'

const MAX_ENDPOINTS = 100
const SECRET_LENGTH = 32

export interface EndpointsParts {
  readonly random: Random
  /** Throws if a URL cannot be delivered to. */
  readonly checkUrl: (url: string) => void
  /** The secret of an endpoint that is added without one. Default: a new secret for each. */
  readonly secret?: string | undefined
}

/** The endpoints, by their ids. */
export class Endpoints {
  readonly #parts: EndpointsParts
  #endpoints = new Map<string, Endpoint>()

  /** @throws TypeError if the secret cannot sign */
  constructor(parts: EndpointsParts) {
    checkedPatch({ secret: parts.secret })
    this.#parts = parts
  }

  /** @throws TypeError that names what is wrong, or that there are too many */
  create(input: EndpointInput): Endpoint {
    const { random, secret } = this.#parts
    const { url, events = ['*'], enabled = true, mode = 'test', ...given } = checkedInput(input)
    this.#parts.checkUrl(url)
    if (this.#endpoints.size >= MAX_ENDPOINTS) {
      throw new TypeError(`There are ${MAX_ENDPOINTS} endpoints already, the maximum: remove one.`)
    }
    const id = random.id('we_')
    const secrets = [given.secret ?? secret ?? newSecret(random)]
    const endpoint = { id, url, events: [...new Set(events)], secrets, enabled, mode }
    this.#endpoints.set(id, endpoint)
    return endpoint
  }

  get(id: string): Endpoint | undefined {
    return this.#endpoints.get(id)
  }

  list(): readonly Endpoint[] {
    return [...this.#endpoints.values()]
  }

  /** The endpoints that subscribe to a kind, disabled ones too. */
  subscribersOf(mode: string, kind: string): readonly Endpoint[] {
    return this.list().filter(
      (endpoint) => endpoint.mode === mode && endpoint.events.some((pattern) => matchesKind(pattern, kind)),
    )
  }

  /**
   * The target of a scenario: an endpoint by its id, or a URL that need not be of one.
   *
   * @throws Error if there is no such endpoint; TypeError if that is no URL
   */
  target(to: string | { readonly url: string }): ScenarioTarget {
    if (typeof to !== 'string') {
      this.checkTarget(to.url)
      return { endpointId: '', url: to.url, secrets: [] }
    }
    const endpoint = this.#endpoints.get(to)
    if (endpoint === undefined) throw new Error(`There is no endpoint ${to}.`)
    return { endpointId: to, url: endpoint.url, secrets: endpoint.secrets }
  }

  /** @throws TypeError if it is no URL that can be delivered to */
  checkTarget(url: string): void {
    checkUrl(url)
    this.#parts.checkUrl(url)
  }

  /** @throws TypeError that names what is wrong */
  update(id: string, patch: EndpointPatch): Endpoint | undefined {
    const { secret, events, ...rest } = checkedPatch(patch)
    if (rest.url !== undefined) this.#parts.checkUrl(rest.url)
    return this.#change(id, {
      ...(rest.url !== undefined && { url: rest.url }),
      ...(rest.enabled !== undefined && { enabled: rest.enabled }),
      ...(events !== undefined && { events: [...new Set(events)] }),
      ...(secret !== undefined && { secrets: [secret] }),
    })
  }

  /** @throws TypeError that names what is wrong */
  rotate(id: string, rotation: { secret?: string; keepOld?: boolean }): Endpoint | undefined {
    const { secret, keepOld = true } = checkedRotation(rotation)
    const endpoint = this.#endpoints.get(id)
    if (endpoint === undefined) return undefined
    const newest = secret ?? newSecret(this.#parts.random)
    const old = keepOld ? endpoint.secrets.filter((other) => other !== newest).slice(0, 1) : []
    return this.#change(id, { secrets: [newest, ...old] })
  }

  remove(id: string): boolean {
    return this.#endpoints.delete(id)
  }

  /** Replaces all endpoints. */
  load(endpoints: readonly Endpoint[]): void {
    this.#endpoints = new Map(endpoints.map((endpoint) => [endpoint.id, endpoint]))
  }

  #change(id: string, changes: Partial<Endpoint>): Endpoint | undefined {
    const endpoint = this.#endpoints.get(id)
    if (endpoint === undefined) return undefined
    const changed = { ...endpoint, ...changes }
    this.#endpoints.set(id, changed)
    return changed
  }
}

function newSecret(random: Random): string {
  return `whsec_${random.secretCharacters(SECRET_LENGTH)}`
}
