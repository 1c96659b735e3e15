import { checkOptionNames } from '../../src/lib/option-names.js'
import { type Stage, type StageOptions, setStage } from '../scenarios/fixture.js'
import { type AnyOptions, makeEvent } from './sample-event.js'

/** What the receiver under attack is like. */
export type AttackOptions = StageOptions

const OPTION_NAMES = ['secret', 'signature', 'now', 'toleranceSeconds', 'data', 'exact']

/**
 * A stage whose events are samples of the kind, each another one.
 *
 * @throws TypeError that names the field or the option that is wrong
 */
export async function sampleStage(
  kind: string,
  options: StageOptions & Pick<AnyOptions, 'data' | 'exact'>,
): Promise<Stage> {
  options = checkOptionNames(options, OPTION_NAMES)
  if (kind === 'order.created') checkDistinct(options)
  const { data, exact = false, ...rest } = options
  const event = (): string => JSON.stringify(makeEvent(kind, { ...(data !== undefined && { data }), exact }))
  return setStage(kind, event, rest)
}

/** Orders are known by their ids: scenarios that share one would be duplicates of each other. */
function checkDistinct({ data }: { data?: unknown }): void {
  const { order } = (data ?? {}) as { order?: { id?: unknown } }
  if (order?.id === undefined) return
  throw new TypeError('data.order.id cannot be set: each attack needs an order of its own. Leave it out.')
}
