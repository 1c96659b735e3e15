import fc from 'fast-check'
import type { Content, Plan } from './model.js'

/** Few, so that much happens to each. The last has no JSON, and so a key of its bytes. */
export const EVENTS = ['a', 'b', 'c'] as const
export type EventName = (typeof EVENTS)[number] | 'x'

export type Step =
  | { readonly do: 'deliver'; readonly event: EventName; readonly content: Content; readonly plan: Plan }
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
  | { readonly do: 'replay all'; readonly plan: Plan }
  /** Two replays and a delivery at once. */
  | { readonly do: 'race'; readonly event: EventName; readonly plan: 'ok' | 'fail' }
  | { readonly do: 'wait'; readonly hours: number }
  | { readonly do: 'discard' | 'forget'; readonly event: EventName }

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
const at = fc.nat(9)
const [isReplay, survives] = [fc.boolean(), fc.boolean()]

const step = <const Name extends Step['do'], Parts>(name: Name, weight: number, parts: Parts) => ({
  weight,
  arbitrary: fc.record({ do: fc.constant(name), ...parts }) as unknown as fc.Arbitrary<Step>,
})

const STEP: fc.Arbitrary<Step> = fc.oneof(
  step('deliver', 12, { event: any, content, plan }),
  step('outlive', 1, { event, plan }),
  step('crash', 6, { event, plan, at, isReplay, survives }),
  step('replay', 4, { event: any, plan }),
  step('replay all', 2, { plan }),
  step('race', 2, { event, plan: fc.constantFrom('ok', 'fail') }),
  step('wait', 3, { hours: fc.constantFrom(15, 15, 25) }),
  step('discard', 1, { event: any }),
  step('forget', 1, { event: any }),
)

export const HISTORIES: fc.Arbitrary<Step[]> = fc.array(STEP, { minLength: 15, maxLength: 30, size: 'max' })
