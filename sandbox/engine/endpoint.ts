/** A URL to which webhooks of some kinds are sent, and their signing. */
export interface Endpoint {
  readonly id: string
  readonly url: string
  /** Kinds, groups such as `event.*`, or `*`. */
  readonly events: readonly string[]
  /** The newest first: during a rotation there are two, and each signs. */
  readonly secrets: readonly string[]
  readonly enabled: boolean
  /** The account that it belongs to: `test` or `live`. */
  readonly mode: string
}

export interface EndpointInput {
  /** http or https, at an address that the address rules allow. */
  url: string
  /** Default `['*']`. */
  events?: readonly string[]
  /** Default: a new one, `whsec_…`. */
  secret?: string
  /** Default true. */
  enabled?: boolean
  /** Default `'test'`. */
  mode?: string
}

export type EndpointPatch = Partial<Pick<EndpointInput, 'url' | 'events' | 'enabled' | 'secret'>>
