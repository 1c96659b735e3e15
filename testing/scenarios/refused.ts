import type { OutcomeName } from '../../src/index.js'
import { cutSignatures, malformedHeaders, nearMiss, notEnvelopes, tamperedBodies } from './refused-parts.js'
import { type ScenarioEntry, type ScenarioTerms, scenariosOf } from './scenario.js'

/** Deliveries that a receiver must refuse: forgeries, and genuine signatures that are too old or from the future. */
export const REFUSED: readonly ScenarioEntry[] = [
  ...scenariosOf(forged('malformed'), {
    'missing-header: No signature at all, also for a kind without a handler: finds receivers that verify only signed requests, or look at the kind first.':
      async ({ sign, event, unknown, withHeader, withBody }) => {
        const genuine = await sign(event())
        return [
          withHeader(genuine),
          withHeader(genuine, ''),
          // A receiver that looks at the kind before the signature answers 2xx to this forgery: it has no handler for it.
          withHeader(withBody(genuine, unknown()[0])),
        ]
      },
    'malformed-header: Almost valid signature headers: finds receivers that parse t or v1 leniently.':
      async ({ sign, signIn, event, withHeader, pastSeconds }) => {
        const genuine = await sign(event())
        const stale = await signIn(-pastSeconds, genuine)
        return malformedHeaders(genuine.header, stale.header).map((header) => withHeader(genuine, header))
      },
  }),
  ...scenariosOf(forged('unauthenticated'), {
    'tampered-byte: A byte of the body changed, or added at its start or end: finds receivers that do not verify the exact bytes.':
      async ({ sign, event, withBody }) => {
        const genuine = await sign(event())
        return tamperedBodies(genuine.body).map((body) => withBody(genuine, body))
      },
    're-serialised-body: The body parsed and serialised again, with the signature of the original: finds receivers that verify their own serialisation.':
      async ({ sign, event, withBody }) => {
        const compact = await sign(event())
        const pretty = await sign(indented(event()))
        // Both directions: a receiver that verifies its own serialisation accepts the second.
        return [
          withBody(pretty, JSON.stringify(JSON.parse(pretty.body))),
          withBody(compact, indented(compact.body)),
        ]
      },
    'wrong-secret: Signed with a secret that differs at its end, also for a kind without a handler: finds receivers that do not compare the signature, or look at the kind first.': // Of the event that `duplicate` sends later: a forgery that is recorded would make the genuine one a duplicate.
      ({ sign, awaited, unknown, secrets }) =>
        Promise.all([awaited(), unknown()[0]].map((body) => sign(body, nearMiss(secrets)))),
    'stale: Signed longer ago than is allowed, by default six minutes: finds receivers that accept replays of old deliveries.':
      async ({ sign, signIn, event, pastSeconds }) => [await signIn(-pastSeconds, await sign(event()))],
    'future: Signed with a time in the future, by default in six minutes: finds receivers that check the age in one direction only.':
      async ({ sign, signIn, event, pastSeconds }) => [await signIn(pastSeconds, await sign(event()))],
    'truncated: The end of the body or of the signature cut off: finds receivers that compare only the length of the signature, and parsers that run before them.':
      async ({ sign, event, withHeader, withBody }) => {
        const genuine = await sign(event())
        const { body, header } = genuine
        return [
          withBody(genuine, body.slice(0, -1)),
          withBody(genuine, body.slice(0, body.length / 2)),
          ...cutSignatures(header).map((cut) => withHeader(genuine, cut)),
        ]
      },
    'other-endpoints-secret: Validly signed, but with the secret of another endpoint: finds receivers that check only that there is a signature.':
      async ({ sign, event }) => [await sign(event(), 'whsec_of_another_endpoint')],
    'empty-body: An empty body with the signature of another: finds receivers that take an empty request for a ping.':
      async ({ sign, event, withBody }) => [withBody(await sign(event()), '')],
  }),
]

/** Signed bodies that are not events: a receiver that acknowledges one loses it. */
export const UNUSABLE: readonly ScenarioEntry[] = [
  ...scenariosOf(
    { verdict: 'unusable', outcomes: ['unprocessable'], runs: 0 },
    {
      'not-json: Signed, but not JSON: finds receivers that acknowledge what they cannot read, so that it is lost.':
        ({ sign, event }) => Promise.all(['', 'not JSON', event().slice(0, -1)].map((body) => sign(body))),
      'not-an-envelope: Signed JSON without the type, date or data of an event: finds receivers that take it for a kind that they need not handle.':
        ({ sign, event }) => Promise.all(notEnvelopes(() => JSON.parse(event())).map((body) => sign(body))),
    },
  ),
]

function forged(outcome: OutcomeName): ScenarioTerms {
  return { verdict: 'forged', outcomes: [outcome], runs: 0 }
}

function indented(body: string): string {
  return JSON.stringify(JSON.parse(body), null, 2)
}
