import { MAX_SIGNATURES } from '../src/signature/header.js'
import { defineScenario, type ScenarioEntry, type ScenarioParts } from './scenario.js'
import { travelling } from './transport.js'
import {
  enlarged,
  happenedEarlier,
  hasEventId,
  spacedOut,
  thinned,
  withExtraFields,
  withOddText,
} from './variations.js'

const BURST = 12

/** What the service itself may send: to a receiver that has seen nothing but a simple delivery, each of them is a surprise. */
export const HONEST_VARIATIONS: readonly ScenarioEntry[] = [
  accepted({
    name: 'valid',
    description:
      'A genuine delivery as the service sends it: finds a receiver with another secret, or another reading of the signature.',
    make: async ({ sign, event }) => [await sign(event())],
  }),
  accepted({
    name: 'whitespace',
    description:
      'The event as indented JSON, signed as it stands: finds receivers that verify what they have parsed and written again.',
    make: ({ sign, event }) => Promise.all(spacedOut(event()).map((body) => sign(body))),
  }),
  accepted({
    name: 'unicode',
    description:
      'Emoji, combining letters and line separators in the text, as they are and as escapes: finds receivers that verify a decoded text, or cannot keep it.',
    make: ({ sign, event }) => Promise.all(withOddText(event()).map((body) => sign(body))),
  }),
  accepted({
    name: 'extra-fields',
    description:
      'Fields that no document names, in the event and in its data: finds receivers that refuse what they do not know.',
    make: async ({ sign, event }) => [await sign(withExtraFields(event()))],
  }),
  accepted({
    name: 'thin',
    description:
      'An event.* whose data is the id of the event alone: finds receivers that rely on a payload which is not documented.',
    suits: hasEventId,
    make: async ({ sign, event }) => [await sign(thinned(event()))],
  }),
  accepted({
    name: 'large',
    description: 'An event of 512 KiB: finds parsers and proxies whose limit is too low.',
    make: async ({ sign, event }) => [await sign(enlarged(event()))],
  }),
  accepted({
    name: 'two-v1',
    description:
      'Beside our signature one by another secret, after it and before it, as while a secret is rotated: finds receivers that look at a single v1.',
    async make({ sign, event, secrets }) {
      const ours = secrets.slice(0, MAX_SIGNATURES - 1)
      const body = event()
      return [
        await sign(body, [...ours, 'whsec_of_the_rotation']),
        await sign(body, ['whsec_of_the_rotation', ...ours]),
      ]
    },
  }),
  accepted({
    name: 'reordered',
    description:
      'The later of two events first: finds receivers that refuse what is older than what they have seen.',
    runs: 2,
    async make({ sign, event }) {
      const later = event()
      return [await sign(later), await sign(happenedEarlier(event(), later))]
    },
  }),
  accepted({
    name: 'chunked',
    description:
      'The body in chunks and without a content-length: finds receivers that read as much as a length says, or the first chunk alone.',
    make: async ({ sign, event }) => [travelling(await sign(event()), 'chunked')],
  }),
  accepted({
    name: 'slow-body',
    description: 'The body bit by bit: finds receivers that do not wait for all of it.',
    make: async ({ sign, event }) => [travelling(await sign(event()), 'slow')],
  }),
]

/** What the service sends on a bad day, and what it will send one day. */
export const HONEST_REPETITIONS: readonly ScenarioEntry[] = [
  accepted({
    name: 'duplicate',
    description:
      'The same event three times, the last time signed anew: finds receivers that handle it again, or refuse it.',
    async make({ sign, signIn, awaited, toleranceSeconds }) {
      const delivery = await sign(awaited())
      // A second later, as far as the tolerance has one: within the same second the signature would be the same.
      return [delivery, delivery, await signIn(Math.min(1, Math.floor(toleranceSeconds)), delivery)]
    },
  }),
  accepted({
    name: 'concurrent-burst',
    description: `The same delivery ${BURST} times at once: finds receivers that look first and take note later.`,
    isBurst: true,
    outcomes: ['handled', 'duplicate', 'in-flight'],
    make: async ({ sign, event }) => Array(BURST).fill(await sign(event())),
  }),
  defineScenario({
    name: 'unknown-kind',
    description:
      'Events of kinds that nobody handles: finds receivers that answer an error, so that the service would send them for 72 hours.',
    verdict: 'unknown',
    outcomes: ['unhandled'],
    runs: 0,
    make: ({ sign, unknown }) => Promise.all(unknown().map((body) => sign(body))),
  }),
]

function accepted(
  parts: Pick<ScenarioParts, 'name' | 'description' | 'make'> & Partial<ScenarioParts>,
): ScenarioEntry {
  return defineScenario({ verdict: 'genuine', outcomes: ['handled', 'duplicate'], runs: 1, ...parts })
}
