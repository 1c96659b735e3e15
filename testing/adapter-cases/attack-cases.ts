import type { OutcomeName } from '../../src/index.js'
import { deferred } from '../../src/internal.js'
import { type AttackName, attacks } from '../scenarios/attacks.js'
import { type AdapterCase, defineCase } from './adapter-case.js'
import { signedOrder } from './case-deliveries.js'
import { SECRET } from './case-runner.js'
import type { ExpectedOutcome } from './expected-answer.js'

interface AttackRow {
  readonly id: string
  /** The name of the case after "MUST". */
  readonly must: string
  /** The outcomes that each of the answers may have. */
  readonly answers: readonly ExpectedOutcome[]
  /** The handler waits until another delivery is answered, so that one is in flight. */
  readonly overlaps?: true
}

/** Nearly all of a default lease is left, and 30 s is the longest Retry-After. */
const IN_FLIGHT: ExpectedOutcome = { outcome: 'in_flight', retryAfterSeconds: 30 }

const ROWS: Readonly<Record<AttackName, AttackRow>> = {
  'missing header': refuse('missing-header', 'a delivery without a signature', 'malformed'),
  'malformed header': refuse('malformed-header', 'a signature header of another form', 'malformed'),
  'tampered byte': refuse('tampered', 'a body with a byte changed or added', 'unauthenticated'),
  're-serialised body': refuse('rewritten', 'a body that was parsed and serialised again', 'unauthenticated'),
  'wrong secret': refuse(
    'wrong-secret',
    'a signature by a secret that differs at its end',
    'unauthenticated',
  ),
  stale: refuse('stale', 'a signature with an old timestamp', 'unauthenticated'),
  future: refuse('future', 'a signature with a timestamp in the future', 'unauthenticated'),
  truncated: refuse('truncated', 'a truncated body', 'unauthenticated'),
  "other endpoint's secret": refuse(
    'other-endpoint',
    'a delivery that is signed for another endpoint',
    'unauthenticated',
  ),
  'empty body': refuse('empty', 'an empty body under the signature of another', 'unauthenticated'),
  'not JSON': refuse(
    'not-json',
    'a signed body that is not JSON, with a status that is retried',
    'unprocessable',
  ),
  'not an envelope': refuse(
    'not-envelope',
    'signed JSON that is not an event, with a status that is retried',
    'unprocessable',
  ),
  duplicate: {
    id: 'duplicate',
    must: 'handle an event once, however often it is delivered',
    answers: ['handled', 'duplicate'],
  },
  'concurrent burst': {
    id: 'burst',
    must: 'handle an event once when its deliveries arrive at the same time',
    answers: ['handled', 'duplicate', IN_FLIGHT],
    overlaps: true,
  },
  'unknown kind': { id: 'unknown-kind', must: 'accept an unknown kind', answers: ['unhandled'] },
}

/** The attacks of the kit. After each, the endpoint must still serve. */
export const attackCases: readonly AdapterCase[] = Object.entries(ROWS).map(([name, row]) =>
  defineCase(`attack-${row.id}`, `MUST ${row.must}.`, async ({ mount, demand }) => {
    const { answers, overlaps } = row
    const answered = deferred()
    const endpoint = await mount(overlaps ? { handle: () => answered.promise } : {})
    const attack = (await attacks('order.created', { secret: SECRET })).find((one) => one.name === name)
    const sent = await attack?.deliver((delivery) => endpoint.send(name, delivery).finally(answered.resolve))
    for (const [index, answer] of (sent ?? []).entries()) {
      endpoint.expectOutcome(`${name}, delivery ${index + 1} of ${sent?.length}`, answer, ...answers)
    }
    const ran = endpoint.runs.length
    const due = attack?.expect.runs
    demand(ran === due, `${name}: expected the handler to run ${due} ×, but it ran ${ran} ×`)
    await endpoint.expectAnswer('an order after the attack', await signedOrder(), 'handled')
  }),
)

function refuse(id: string, what: string, outcome: OutcomeName): AttackRow {
  return { id, must: `refuse ${what}`, answers: [outcome] }
}
