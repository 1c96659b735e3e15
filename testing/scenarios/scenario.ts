import { answerTo, type OutcomeName } from '../../src/index.js'
import type { TestDelivery } from '../deliveries/test-delivery.js'
import { checkSend } from '../retries/retries.js'
import { titleOf } from '../store-cases/steps.js'
import type { Fixture } from './fixture.js'

/** The name of a scenario. */
export type ScenarioName =
  | 'valid'
  | 'whitespace'
  | 'unicode'
  | 'extra-fields'
  | 'thin'
  | 'large'
  | 'two-v1'
  | 'reordered'
  | 'tied'
  | 'chunked'
  | 'tiny-chunks'
  | 'slow-body'
  | 'missing-header'
  | 'malformed-header'
  | 'tampered-byte'
  | 're-serialised-body'
  | 'wrong-secret'
  | 'stale'
  | 'future'
  | 'truncated'
  | 'other-endpoints-secret'
  | 'empty-body'
  | 'not-json'
  | 'not-an-envelope'
  | 'duplicate'
  | 'concurrent-burst'
  | 'unknown-kind'

/**
 * The sort of a scenario's deliveries, which decides the expected answer: accept what is `genuine`; refuse what is `forged`; do not
 * acknowledge what is `unusable`, a valid signature over something that is not an event; acknowledge an `unknown` kind, although there is
 * no handler for it.
 */
export type ScenarioVerdict = 'genuine' | 'forged' | 'unusable' | 'unknown'

/** How a body is sent if not whole: in a few chunks or in chunks of one byte, without a content-length; or in chunks with pauses between them. */
export type ScenarioTransport = 'chunked' | 'tiny-chunks' | 'slow'

/** A delivery, and how its body is sent. `toRequest` sends it that way; other clients must do it themselves, or send it whole. */
export interface ScenarioDelivery extends TestDelivery {
  /** Default: whole. */
  readonly transport?: ScenarioTransport
}

/** A scenario without its deliveries, which need an event. */
export interface ScenarioInfo {
  readonly name: ScenarioName
  /** One sentence: the deliveries, and the fault of a receiver that they find. */
  readonly description: string
  readonly verdict: ScenarioVerdict
  /** Whether its deliveries are sent at the same time. */
  readonly isBurst: boolean
  readonly expect: {
    /** The statuses that each of the answers may have. */
    readonly statuses: readonly number[]
    /** The number of runs of the kind's handler once all of them are answered. */
    readonly runs: number
  }
  /** Whether its deliveries can be made from this event: `thin` needs a string as `data.event.id`. */
  suits(event: { readonly type: string; readonly data: unknown }): boolean
}

/** Deliveries of the service, of a bad network or of an attacker, and the answers that they must get. */
export interface Scenario extends Omit<ScenarioInfo, 'suits'> {
  /** In the order in which they are sent. */
  readonly deliveries: readonly ScenarioDelivery[]
  /** Sends the deliveries, one after the other or all at once as the scenario requires, and returns the answers in the same order. */
  deliver<Answer>(send: (delivery: ScenarioDelivery) => Answer): Promise<Awaited<Answer>[]>
}

/** A scenario, and how its deliveries are made. */
export interface ScenarioEntry extends ScenarioInfo {
  make(fixture: Fixture): ScenarioDelivery[] | Promise<ScenarioDelivery[]>
}

/** What scenarios have in common. The statuses that they expect follow from the outcomes. */
export interface ScenarioTerms
  extends Pick<ScenarioEntry, 'verdict'>,
    Partial<Pick<ScenarioEntry, 'isBurst' | 'suits'>> {
  readonly outcomes: readonly OutcomeName[]
  readonly runs: number
}

/** Scenarios on the same terms. By `name: description`, how the deliveries of each are made. */
export function scenariosOf(
  { outcomes, runs, ...terms }: ScenarioTerms,
  makers: Readonly<Record<`${ScenarioName}: ${string}`, ScenarioEntry['make']>>,
): ScenarioEntry[] {
  const statuses = [...new Set(outcomes.map((outcome) => answerTo({ outcome }).status))]
  return Object.entries(makers).map(([title, make]) => {
    const { id, name: description } = titleOf(title)
    const name = id as ScenarioName
    return {
      name,
      description,
      isBurst: false,
      suits: () => true,
      ...terms,
      make,
      expect: { statuses, runs },
    }
  })
}

/** Makes a scenario with its deliveries. */
export async function createScenario(entry: ScenarioEntry, fixture: Fixture): Promise<Scenario> {
  const { name, description, verdict, isBurst, expect } = entry
  const deliveries = await entry.make(fixture)
  return {
    name,
    description,
    verdict,
    isBurst,
    expect,
    deliveries,
    async deliver(send) {
      checkSend(send)
      if (isBurst) return Promise.all(deliveries.map((delivery) => send(delivery)))
      const answers = []
      for (const delivery of deliveries) answers.push(await send(delivery))
      return answers
    },
  }
}
