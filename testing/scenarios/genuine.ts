import { MAX_SIGNATURES } from '../../src/internal.js'
import type { SignedBody } from '../deliveries/signed-delivery.js'
import { bytesOf, inParts, streamedRequest } from '../deliveries/streamed-body.js'
import {
  enlarged,
  happenedEarlier,
  happenedTogether,
  hasEventId,
  spacedOut,
  thinned,
  withExtraFields,
  withOddText,
} from './genuine-bodies.js'
import {
  type ScenarioDelivery,
  type ScenarioEntry,
  type ScenarioTerms,
  type ScenarioTransport,
  scenariosOf,
} from './scenario.js'

const BURST = 12

/** The parts of a body that is streamed. */
const PARTS = 7
const PAUSE_MS = 10

function accepted(terms: Partial<ScenarioTerms> = {}): ScenarioTerms {
  return { verdict: 'genuine', outcomes: ['handled', 'duplicate'], runs: 1, ...terms }
}
const UNKNOWN: ScenarioTerms = { verdict: 'unknown', outcomes: ['unhandled'], runs: 0 }

/** Deliveries that the service may send, and that a receiver tested with one simple delivery may refuse. */
export const GENUINE: readonly ScenarioEntry[] = [
  ...scenariosOf(accepted(), {
    'valid: A genuine delivery as the service sends it: finds receivers with another secret, or another signature scheme.':
      async ({ sign, event }) => [await sign(event())],
    'whitespace: The event as indented JSON: finds receivers that verify the body after they parsed and serialised it.':
      ({ sign, event }) => Promise.all(spacedOut(event()).map((body) => sign(body))),
    'unicode: Emoji, combining characters and line separators, raw and escaped: finds receivers that verify decoded text, or cannot store it.':
      ({ sign, event }) => Promise.all(withOddText(event()).map((body) => sign(body))),
    'extra-fields: Undocumented fields, in the event and in its data: finds receivers that refuse unknown fields.':
      async ({ sign, event }) => [await sign(withExtraFields(event()))],
  }),
  ...scenariosOf(accepted({ suits: hasEventId }), {
    'thin: An event.* whose data is only the id of the event: finds receivers that rely on an undocumented payload.':
      async ({ sign, event }) => [await sign(thinned(event()))],
  }),
  ...scenariosOf(accepted(), {
    'large: An event of 512 KiB: finds parsers and proxies whose limit is too low.': async ({
      sign,
      event,
    }) => [await sign(enlarged(event()))],
    'two-v1: A second signature with another secret, before and after the right one, as during a rotation: finds receivers that look at a single v1.':
      async ({ sign, event, secrets }) => {
        const ours = secrets.slice(0, MAX_SIGNATURES - 1)
        const body = event()
        return [
          await sign(body, [...ours, 'whsec_of_the_rotation']),
          await sign(body, ['whsec_of_the_rotation', ...ours]),
        ]
      },
  }),
  ...scenariosOf(accepted({ runs: 3 }), {
    'reordered: The later of two events first, then another one of the same time: finds receivers that refuse an event that is not newer than the last one.':
      async ({ sign, event }) => {
        const later = event()
        const earlier = happenedEarlier(event(), later)
        return [await sign(later), await sign(earlier), await sign(happenedTogether(event(), later))]
      },
  }),
  ...scenariosOf(accepted({ runs: 2 }), {
    'tied: Two events of the same time, then the first one again: finds receivers that tell events apart by their created_at.':
      async ({ sign, event }) => {
        const first = await sign(event())
        return [first, await sign(happenedTogether(event(), first.body)), first]
      },
  }),
  ...scenariosOf(accepted(), {
    'chunked: The body in chunks, without a content-length: finds receivers that rely on the length, or read only the first chunk.':
      async ({ sign, event }) => [streamed(await sign(event()), 'chunked')],
    'tiny-chunks: The body in chunks of one byte, without a content-length: finds receivers that decode each chunk by itself, or accept only so many of them.':
      async ({ sign, event }) => [streamed(await sign(event()), 'tiny-chunks')],
    'slow-body: The body bit by bit: finds receivers that do not wait for the whole body.': async ({
      sign,
      event,
    }) => [streamed(await sign(event()), 'slow')],
  }),
]

/** Deliveries that are repeated, and kinds that the service may add. */
export const REPEATED: readonly ScenarioEntry[] = [
  ...scenariosOf(accepted(), {
    'duplicate: The same event three times, the last time with a new signature: finds receivers that handle it again, or refuse it.':
      async ({ sign, signIn, awaited, toleranceSeconds }) => {
        const delivery = await sign(awaited())
        // One second later, if the tolerance allows it: within the same second the signature would be the same.
        return [delivery, delivery, await signIn(Math.min(1, Math.floor(toleranceSeconds)), delivery)]
      },
  }),
  ...scenariosOf(accepted({ isBurst: true, outcomes: ['handled', 'duplicate', 'in_flight'] }), {
    [`concurrent-burst: The same delivery ${BURST} times at once: finds receivers that check for duplicates before they record the event.`]:
      async ({ sign, event }) => Array(BURST).fill(await sign(event())),
  }),
  ...scenariosOf(UNKNOWN, {
    'unknown-kind: Events of kinds without a handler: finds receivers that answer with an error, so that the service retries for 72 hours.':
      ({ sign, unknown }) => Promise.all(unknown().map((body) => sign(body))),
  }),
]

/** The same delivery, whose `toRequest` sends the body in parts: without a content-length, and with pauses if it is slow. */
function streamed(delivery: SignedBody, transport: ScenarioTransport): ScenarioDelivery {
  const { method, headers, body } = delivery
  return {
    ...delivery,
    transport,
    toRequest(url) {
      const bytes = bytesOf(body)
      const parts = transport === 'tiny-chunks' ? bytes.length : PARTS
      const stream = inParts(bytes, parts, transport === 'slow' ? PAUSE_MS : 0)
      return streamedRequest(delivery.toRequest(url).url, { method, headers }, stream)
    },
  }
}
