import fc from 'fast-check'
import type { Content, Plan } from './model.js'

/** Few, so that much happens to each. The last has no JSON, and so a key of its bytes. */
export const EVENTS = ['a', 'b', 'c'] as const
export type EventName = (typeof EVENTS)[number] | 'x'

export type Step =
  | {
      readonly do: 'deliver'
      readonly event: EventName
      readonly content: Content
      readonly plan: Plan
      readonly isBroken: boolean
    }
  /** The handler outlives the answer, and then ends as planned. */
  | { readonly do: 'outlive'; readonly event: EventName; readonly plan: Plan }
  /** The process dies at this step of its calls, or loses one of them, or its answer. */
  | {
      readonly do: 'crash'
      readonly event: EventName
      readonly plan: Plan
      readonly at: number
      readonly isReplay: boolean
      readonly survives: boolean
    }
  | { readonly do: 'replay'; readonly event: EventName; readonly plan: Plan }
  | { readonly do: 'replay all'; readonly state: 'parked' | undefined; readonly plan: Plan }
  /** Two replays and a delivery at once. */
  | { readonly do: 'race'; readonly event: EventName; readonly plan: 'ok' | 'fail' }
  | { readonly do: 'wait'; readonly hours: number }
  | { readonly do: 'delete'; readonly event: EventName }
  | { readonly do: 'purge' }

const event = fc.constantFrom(...EVENTS)
const any = fc.oneof({ weight: 6, arbitrary: event }, { weight: 1, arbitrary: fc.constant('x' as const) })
const plan = fc.oneof(
  { weight: 6, arbitrary: fc.constant('fail' as const) },
  { weight: 2, arbitrary: fc.constant('ok' as const) },
  { weight: 1, arbitrary: fc.constantFrom('retry' as const, 'discard' as const) },
)
const content = fc.oneof(
  { weight: 4, arbitrary: fc.constant('valid' as const) },
  { weight: 1, arbitrary: fc.constant('invalid' as const) },
)

const step = <const Name extends Step['do'], Parts>(name: Name, parts: Parts) => ({
  do: fc.constant(name),
  ...parts,
})

const STEP: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.record(
      step('deliver', { event: any, content, plan, isBroken: fc.nat(5).map((n) => n === 0) }),
    ),
  },
  { weight: 1, arbitrary: fc.record(step('outlive', { event, plan })) },
  {
    weight: 5,
    arbitrary: fc.record(
      step('crash', { event, plan, at: fc.nat(9), isReplay: fc.boolean(), survives: fc.boolean() }),
    ),
  },
  { weight: 4, arbitrary: fc.record(step('replay', { event: any, plan })) },
  {
    weight: 2,
    arbitrary: fc.record(step('replay all', { state: fc.constantFrom('parked' as const, undefined), plan })),
  },
  {
    weight: 2,
    arbitrary: fc.record(step('race', { event, plan: fc.constantFrom('ok' as const, 'fail' as const) })),
  },
  { weight: 3, arbitrary: fc.record(step('wait', { hours: fc.constantFrom(15, 15, 25, 480) })) },
  { weight: 1, arbitrary: fc.record(step('delete', { event: any })) },
  { weight: 1, arbitrary: fc.record(step('purge', {})) },
)

export const HISTORIES: fc.Arbitrary<Step[]> = fc.array(STEP, { minLength: 15, maxLength: 30, size: 'max' })
