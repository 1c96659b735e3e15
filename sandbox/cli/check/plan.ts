import { type EventKind, isKnownEvent } from 'tix-webhooks'
import { SCENARIOS, type ScenarioInfo, type ScenarioName } from 'tix-webhooks/testing'
import { givenEvent, madeUpEvent, madeUpEventToCut } from '../send/made-up-events.js'
import { RETRIED_FAILURE, RETRIED_KIND } from './retried-failure.js'

/** A scenario, or `retried-failure`, which is a probe without a fixed scenario. */
export type ProbeName = ScenarioName | typeof RETRIED_FAILURE.name

/** All probes, in the order in which they are played. */
export const PROBE_NAMES: readonly ProbeName[] = [...SCENARIOS.map(({ name }) => name), RETRIED_FAILURE.name]

/** The choice of probes, and of their events. */
export interface Wanted {
  /** A kind that the receiver handles. Default `order.created`; without `data`, `event.published` where a scenario needs another kind. */
  kind?: string
  /** Data that exists in the app, for a handler that looks it up. Default: made-up orders and events, new ones each time. */
  data?: Readonly<Record<string, unknown>>
  /** The probes to play. Default: all that the kind can play. */
  only?: readonly string[]
}

export interface Probe {
  readonly scenario: ScenarioInfo
  readonly event: EventSource
}

interface EventSource {
  /** The JSON of an event. */
  make(): string
  /** The JSON of an event that is split within a character when it is sent in pieces. */
  makeToCut(): string
}

const DEFAULT_KINDS: readonly EventKind[] = ['order.created', 'event.published']

/** A genuine delivery, always; and what was asked for. */
export function planned({ kind, only, data }: Wanted): readonly Probe[] {
  const unknown = only?.find((name) => !PROBE_NAMES.some((one) => one === name))
  if (unknown !== undefined) {
    throw new TypeError(
      `There is no probe ${JSON.stringify(unknown)}. The probes are ${PROBE_NAMES.join(', ')}.`,
    )
  }
  const sources = sourcesOf(kind, data)
  const wanted = SCENARIOS.filter(({ name }) => name === 'valid' || only === undefined || only.includes(name))
  return wanted.flatMap((scenario): Probe[] => {
    const event = sources.find(({ make }) => scenario.suits(JSON.parse(make())))
    if (event !== undefined) return [{ scenario, event }]
    if (only === undefined) return []
    throw new TypeError(
      `The scenario ${scenario.name} needs an event.* such as event.published, not ${kind ?? 'order.created'}.`,
    )
  })
}

/** The sources of its events: the first that suits a scenario is used. */
function sourcesOf(kind: string | undefined, data: Wanted['data']): readonly EventSource[] {
  if (data !== undefined) {
    const make = (): string => givenEvent(kind ?? 'order.created', data)
    return [{ make, makeToCut: make }]
  }
  const kinds = kind === undefined ? DEFAULT_KINDS : [documented(kind)]
  return kinds.map((one) => ({ make: () => madeUpEvent(one), makeToCut: () => madeUpEventToCut(one) }))
}

function documented(kind: string): EventKind {
  const event = { type: kind }
  if (isKnownEvent(event)) return event.type
  throw new TypeError(
    `There are samples of order.created, event.published, event.cancelled and event.rescheduled only: give the data of ${JSON.stringify(kind)} with --data.`,
  )
}

/**
 * Whether to play the probe of a failure that is retried, which makes up its orders.
 *
 * @throws TypeError if it is requested, and cannot be
 */
export function playsRetriedFailure({ kind = RETRIED_KIND, only, data }: Wanted): boolean {
  const isAskedFor = only?.includes(RETRIED_FAILURE.name) ?? false
  const canBe = kind === RETRIED_KIND && data === undefined
  if (isAskedFor && !canBe) {
    throw new TypeError(
      `The probe ${RETRIED_FAILURE.name} makes up orders that lack something: leave out --data, and any --kind but ${RETRIED_KIND}.`,
    )
  }
  return canBe && (isAskedFor || only === undefined)
}
