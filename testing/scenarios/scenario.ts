import { answerTo, type OutcomeName } from '../../src/index.js'
import type { TestDelivery } from '../deliveries/test-delivery.js'
import { checkSend } from '../retries/retries.js'
import type { Stage } from './fixture.js'

/** What a scenario does, in a word or two. */
export type ScenarioName =
  | 'valid'
  | 'whitespace'
  | 'unicode'
  | 'extra-fields'
  | 'thin'
  | 'large'
  | 'two-v1'
  | 'reordered'
  | 'chunked'
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
 * What a scenario's deliveries are, and so what any receiver owes them: `genuine` must be accepted; `forged` must be refused; what
 * is `unusable` has a good signature around no event, and must not be acknowledged; `unknown` is an event of a kind that nobody
 * handles, and must be acknowledged all the same.
 */
export type Verdict = 'genuine' | 'forged' | 'unusable' | 'unknown'

/** How a body travels, where it is not sent whole: in chunks and without a length, or bit by bit. */
export type Transport = 'chunked' | 'slow'

/** A delivery, and how its body is to travel. `toRequest` makes it travel so; other clients send it whole, or see to it themselves. */
export interface ScenarioDelivery extends TestDelivery {
  /** Absent: whole. */
  readonly transport?: Transport
}

/** A scenario before there is an event to play it with. */
export interface ScenarioInfo {
  readonly name: ScenarioName
  /** What it sends, and what fault of a receiver it finds, in a sentence. */
  readonly description: string
  readonly verdict: Verdict
  /** Whether its deliveries are sent all at once. */
  readonly isBurst: boolean
  readonly expect: {
    /** What each of the answers may have as its status. */
    readonly statuses: readonly number[]
    /** How often the handler of the kind must have run when all are answered. */
    readonly runs: number
  }
  /** Whether it can be played with this event: `thin` takes those with an event's id as their `data.event.id`. */
  suits(event: { readonly type: string; readonly data: unknown }): boolean
}

/** What the service, a bad network or an attacker may send, and what a receiver owes it. */
export interface Scenario extends Omit<ScenarioInfo, 'suits'> {
  /** In the order in which they are sent. */
  readonly deliveries: readonly ScenarioDelivery[]
  /** Sends the deliveries as the scenario wants it, one after the other or all at once, and gives the answers in their order. */
  deliver<Answer>(send: (delivery: ScenarioDelivery) => Answer): Promise<Awaited<Answer>[]>
}

/** A scenario, and how it is played. */
export interface ScenarioEntry extends ScenarioInfo {
  make(stage: Stage): ScenarioDelivery[] | Promise<ScenarioDelivery[]>
}

/** What is to be said of a scenario. What its answers must be follows from how its deliveries may end. */
export interface ScenarioParts extends Pick<ScenarioEntry, 'name' | 'description' | 'verdict' | 'make'> {
  readonly outcomes: readonly OutcomeName[]
  readonly runs: number
  /** Default false. */
  readonly isBurst?: boolean
  /** Default: every event. */
  readonly suits?: ScenarioInfo['suits']
}

export function defineScenario({ outcomes, runs, ...parts }: ScenarioParts): ScenarioEntry {
  const statuses = [...new Set(outcomes.map((outcome) => answerTo({ outcome }).status))]
  return { isBurst: false, suits: () => true, ...parts, expect: { statuses, runs } }
}

/** Makes the deliveries of a scenario. */
export async function staged(entry: ScenarioEntry, stage: Stage): Promise<Scenario> {
  const { name, description, verdict, isBurst, expect } = entry
  const deliveries = await entry.make(stage)
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
