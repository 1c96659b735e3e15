import type { OutcomeName } from '../../src/index.js'
import { deferred } from '../../src/internal.js'
import { sampleEvent } from '../deliveries/sample-event.js'
import type { ScenarioName } from '../scenarios/scenario.js'
import { makeScenario } from '../scenarios/scenarios.js'
import { type AdapterCase, test } from './adapter-case.js'
import { signedOrder } from './case-deliveries.js'
import { SECRET } from './case-runner.js'
import type { ExpectedOutcome } from './expected-answer.js'

interface ScenarioRow {
  readonly name: ScenarioName
  /** The name of the case after "MUST". */
  readonly must: string
  /** The outcomes that each of the answers may have. */
  readonly answers: readonly ExpectedOutcome[]
  /** The handler waits until another delivery is answered, so that one is in flight. */
  readonly overlaps?: true
}

/** Nearly all of a default lease is left, and 30 s is the longest Retry-After. */
const IN_FLIGHT: ExpectedOutcome = { outcome: 'in_flight', retryAfterSeconds: 30 }

/** The scenarios in which an adapter has a part. Its ways to read a body have cases of their own. */
const ROWS: readonly ScenarioRow[] = [
  refuse('missing-header', 'a delivery without a signature', 'malformed'),
  refuse('malformed-header', 'a signature header of another form', 'malformed'),
  refuse('tampered-byte', 'a body with a byte changed or added', 'unauthenticated'),
  refuse('re-serialised-body', 'a body that was parsed and serialised again', 'unauthenticated'),
  refuse('wrong-secret', 'a signature by a secret that differs at its end', 'unauthenticated'),
  refuse('stale', 'a signature with an old timestamp', 'unauthenticated'),
  refuse('future', 'a signature with a timestamp in the future', 'unauthenticated'),
  refuse('truncated', 'a truncated body', 'unauthenticated'),
  refuse('other-endpoints-secret', 'a delivery that is signed for another endpoint', 'unauthenticated'),
  refuse('empty-body', 'an empty body under the signature of another', 'unauthenticated'),
  refuse('not-json', 'a signed body that is not JSON, with a status that is retried', 'unprocessable'),
  refuse(
    'not-an-envelope',
    'signed JSON that is not an event, with a status that is retried',
    'unprocessable',
  ),
  {
    name: 'duplicate',
    must: 'handle an event once, however often it is delivered',
    answers: ['handled', 'duplicate'],
  },
  {
    name: 'concurrent-burst',
    must: 'handle an event once when its deliveries arrive at the same time',
    answers: ['handled', 'duplicate', IN_FLIGHT],
    overlaps: true,
  },
  { name: 'unknown-kind', must: 'accept an unknown kind', answers: ['unhandled'] },
]

/** Each has the name of its scenario as its id, and is followed by an order, which the endpoint must still serve. */
export const scenarioCases: readonly AdapterCase[] = ROWS.map(({ name, must, answers, overlaps }) =>
  test(`${name}: MUST ${must}.`, async (runner) => {
    const answered = deferred()
    const endpoint = await runner.mount(overlaps ? { handle: () => answered.promise } : {})
    const body = (): string => JSON.stringify(sampleEvent('order.created'))
    const { deliver, expect } = await makeScenario(name, { body, secret: SECRET })
    const sent = await deliver((delivery) => endpoint.send(name, delivery).finally(answered.resolve))
    for (const [index, answer] of sent.entries()) {
      endpoint.expectOutcome(`${name}, delivery ${index + 1} of ${sent.length}`, answer, ...answers)
    }
    const ran = endpoint.runs.length
    runner.demand(
      ran === expect.runs,
      `${name}: expected the handler to run ${expect.runs} ×, but it ran ${ran} ×`,
    )
    await endpoint.expectAnswer(`an order after ${name}`, await signedOrder(), 'handled')
  }),
)

function refuse(name: ScenarioName, what: string, outcome: OutcomeName): ScenarioRow {
  return { name, must: `refuse ${what}`, answers: [outcome] }
}
