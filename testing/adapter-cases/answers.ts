import { answerTo, Discard, memoryStore, RetryLater } from '../../src/index.js'
import { sampleEvent } from '../deliveries/sample-event.js'
import { type AdapterCase, defineCase } from './adapter-case.js'
import { signed, signedOrder } from './case-deliveries.js'
import { INTERNAL } from './case-runner.js'

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
      const endpoint = await mount({
        handle: () => {
          throw new Discard(INTERNAL)
        },
      })
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

  defineCase(
    'answer-error',
    'MUST NOT let an error decide the answer, nor reveal anything of it.',
    async ({ mount }) => {
      // The properties of errors that frameworks read; here they ask for a 4xx, after which some senders give up.
      const { status } = answerTo({ outcome: 'malformed' })
      const odd = Object.assign(new Error(INTERNAL), {
        status,
        statusCode: status,
        code: INTERNAL,
        expose: true,
        headers: { 'x-inside': INTERNAL },
        cause: new Error(INTERNAL),
        getResponse: () => new Response(INTERNAL),
        toJSON: () => ({ message: INTERNAL }),
      })
      const handle = () => {
        throw odd
      }
      await (await mount({ handle })).expectAnswer(
        'a handler that throws an HTTP error',
        await signedOrder(),
        'failed',
      )
    },
  ),

  defineCase(
    'answer-retry-later',
    'MUST send the Retry-After that the handler asked for.',
    async ({ mount }) => {
      const handle = () => {
        throw new RetryLater({ afterSeconds: 123, reason: INTERNAL })
      }
      const expected = { outcome: 'retry_later', retryAfterSeconds: 123 } as const
      await (await mount({ handle })).expectAnswer(
        'a handler that throws RetryLater',
        await signedOrder(),
        expected,
      )
    },
  ),

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
      const secret = (): never => {
        throw new Error(INTERNAL)
      }
      const throwing = await mount({ secret })
      const expected = { outcome: 'unavailable', retryAfterSeconds: 5 } as const
      await throwing.expectAnswer('a secret function that throws', await signedOrder(), expected)
      const finding = await mount({ secret: async () => undefined })
      await finding.expectAnswer('a secret function that returns none', await signedOrder(), 'misconfigured')
    },
  ),

  defineCase(
    'answer-in-flight',
    'MUST send a Retry-After for an event that another process is handling.',
    async ({ mount }) => {
      const claim = async () => ({ status: 'in_flight', retryAfterMs: 6500 }) as const
      const endpoint = await mount({ store: { ...memoryStore(), claim } })
      const expected = { outcome: 'in_flight', retryAfterSeconds: 7 } as const
      await endpoint.expectAnswer('an order that another process handles', await signedOrder(), expected)
    },
  ),

  defineCase(
    'answer-unavailable',
    'MUST send a Retry-After while the store is down, and not run the handler.',
    async ({ mount }) => {
      const claim = async (): Promise<never> => {
        throw new Error(INTERNAL)
      }
      const endpoint = await mount({ store: { ...memoryStore(), claim } })
      const expected = { outcome: 'unavailable', retryAfterSeconds: 5 } as const
      await endpoint.expectAnswer('an order while the store is down', await signedOrder(), expected)
    },
  ),

  defineCase(
    'answer-timed-out',
    'MUST answer at timeoutSeconds, although the handler continues.',
    async ({ mount }) => {
      let release = (): void => {}
      const released = new Promise<void>((resolve) => {
        release = resolve
      })
      const endpoint = await mount({ timeoutSeconds: 0.25, handle: () => released })
      const expected = { outcome: 'timed_out', retryAfterSeconds: 5 } as const
      try {
        await endpoint.expectAnswer('a handler that takes too long', await signedOrder(), expected)
      } finally {
        release()
      }
    },
  ),
]
