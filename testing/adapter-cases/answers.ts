import { answerTo, Discard, memoryStore, RetryLater } from '../../src/index.js'
import { deferred } from '../../src/internal.js'
import { sampleEvent } from '../deliveries/sample-event.js'
import { type AdapterCase, defineCase } from './adapter-case.js'
import { signed, signedOrder } from './case-deliveries.js'
import { type CaseOptions, INTERNAL } from './case-runner.js'
import type { ExpectedOutcome } from './expected-answer.js'

const throwing = (thrown: unknown) => (): never => {
  throw thrown
}

/** The properties of errors that frameworks read; here they ask for a 4xx, after which some senders give up. */
const HTTP_ERROR = Object.assign(new Error(INTERNAL), {
  status: answerTo({ outcome: 'malformed' }).status,
  statusCode: answerTo({ outcome: 'malformed' }).status,
  code: INTERNAL,
  expose: true,
  headers: { 'x-inside': INTERNAL },
  cause: new Error(INTERNAL),
  getResponse: () => new Response(INTERNAL),
  toJSON: () => ({ message: INTERNAL }),
})

/** The answer to each outcome of a delivery. */
export const answerCases: readonly AdapterCase[] = [
  defineCase(
    'answer-handled',
    'MUST answer when the handler has completed, and not before.',
    async ({ mount, demand }) => {
      let isDone = false
      const handle = async (): Promise<void> => {
        // Longer than an answer that does not wait takes.
        await new Promise((resolve) => setTimeout(resolve, 25))
        isDone = true
      }
      const endpoint = await mount({ handle })
      await endpoint.expectAnswer('an order', await signedOrder(), 'handled')
      demand(isDone, 'expected the handler to be done before the answer, but it was not')
    },
  ),

  defineCase('answer-duplicate', 'MUST answer what was handled before as a duplicate.', async ({ mount }) => {
    const endpoint = await mount()
    const order = await signedOrder()
    await endpoint.expectAnswer('an order', order, 'handled')
    await endpoint.expectAnswer('the order again', order, 'duplicate')
    await endpoint.expectAnswer('the order again, with a new signature', await order.signAgain(), 'duplicate')
  }),

  defineCase('answer-unhandled', 'MUST accept a kind that has no handler.', async ({ mount }) => {
    const endpoint = await mount()
    await endpoint.expectAnswer(
      'an event.published',
      await signed(sampleEvent('event.published')),
      'unhandled',
    )
  }),

  defineCase(
    'answer-discarded',
    'MUST accept what the handler discards, and not reveal the reason.',
    async ({ mount }) => {
      const endpoint = await mount({ handle: throwing(new Discard(INTERNAL)) })
      const order = await signedOrder()
      await endpoint.expectAnswer('an order that the handler discards', order, 'discarded')
      await endpoint.expectAnswer('the order again', order, 'duplicate')
    },
  ),

  defineCase(
    'answer-failed',
    'MUST answer that the handler failed, whatever it throws, and run it again on the next delivery.',
    async ({ mount }) => {
      for (const [label, thrown] of [
        ['an error', new Error(INTERNAL)],
        ['a string', INTERNAL],
        ['nothing', undefined],
      ] as const) {
        let isMended = false
        const handle = async (): Promise<void> => {
          if (!isMended) throw thrown
        }
        const endpoint = await mount({ handle })
        const order = await signedOrder()
        await endpoint.expectAnswer(`a handler that throws ${label}`, order, 'failed')
        isMended = true
        await endpoint.expectAnswer('the order again, for the fixed handler', order, 'handled')
      }
    },
  ),

  answering('answer-error', 'MUST NOT let an error decide the answer, nor reveal anything of it.', {
    what: 'a handler that throws an HTTP error',
    options: { handle: throwing(HTTP_ERROR) },
    expected: 'failed',
  }),

  answering('answer-retry-later', 'MUST send the Retry-After that the handler asked for.', {
    what: 'a handler that throws RetryLater',
    options: { handle: throwing(new RetryLater({ afterSeconds: 123, reason: INTERNAL })) },
    expected: { outcome: 'retry_later', retryAfterSeconds: 123 },
  }),

  defineCase(
    'answer-unprocessable',
    'MUST ask for a retry of an authentic delivery whose data is invalid, and not reveal what is missing.',
    async ({ mount }) => {
      const endpoint = await mount()
      const data = { order: { id: INTERNAL, total_cents: INTERNAL } }
      const delivery = await signed(sampleEvent('order.created', { data, exact: true }))
      await endpoint.expectAnswer('an order.created without the documented fields', delivery, 'unprocessable')
    },
  ),

  defineCase(
    'answer-misconfigured',
    'MUST answer if the secret function throws or returns no secret, and never run the handler then.',
    async ({ mount }) => {
      const failing = await mount({ secret: throwing(new Error(INTERNAL)) })
      const expected = { outcome: 'unavailable', retryAfterSeconds: 5 } as const
      await failing.expectAnswer('a secret function that throws', await signedOrder(), expected)
      const finding = await mount({ secret: async () => undefined })
      await finding.expectAnswer('a secret function that returns none', await signedOrder(), 'misconfigured')
    },
  ),

  answering('answer-in-flight', 'MUST send a Retry-After for an event that another process is handling.', {
    what: 'an order that another process handles',
    options: {
      store: { ...memoryStore(), claim: async () => ({ status: 'in_flight', retryAfterMs: 6500 }) },
    },
    expected: { outcome: 'in_flight', retryAfterSeconds: 7 },
  }),

  answering(
    'answer-unavailable',
    'MUST send a Retry-After while the store is down, and not run the handler.',
    {
      what: 'an order while the store is down',
      options: { store: { ...memoryStore(), claim: async () => throwing(new Error(INTERNAL))() } },
      expected: { outcome: 'unavailable', retryAfterSeconds: 5 },
    },
  ),

  defineCase(
    'answer-timed-out',
    'MUST answer at timeoutSeconds, although the handler continues.',
    async ({ mount }) => {
      const released = deferred()
      const endpoint = await mount({ timeoutSeconds: 0.25, handle: () => released.promise })
      const expected = { outcome: 'timed_out', retryAfterSeconds: 5 } as const
      try {
        await endpoint.expectAnswer('a handler that takes too long', await signedOrder(), expected)
      } finally {
        released.resolve()
      }
    },
  ),
]

/** A case that sends one order to an endpoint with these options. */
function answering(
  id: string,
  name: string,
  { what, options, expected }: { what: string; options: CaseOptions; expected: ExpectedOutcome },
): AdapterCase {
  return defineCase(id, name, async ({ mount }) =>
    (await mount(options)).expectAnswer(what, await signedOrder(), expected),
  )
}
