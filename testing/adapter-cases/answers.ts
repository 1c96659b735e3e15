import { answerTo, Discard, memoryStore, RetryLater } from '../../src/index.js'
import { deferred } from '../../src/internal.js'
import { sampleEvent } from '../deliveries/sample-event.js'
import { type AdapterCase, test } from './adapter-case.js'
import { signed, signedOrder } from './case-deliveries.js'
import { INTERNAL } from './case-runner.js'

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
  test('answer-handled: MUST answer when the handler has completed, and not before.', async (runner) => {
    let isDone = false
    const handle = async (): Promise<void> => {
      // Longer than an answer that does not wait takes.
      await new Promise((resolve) => setTimeout(resolve, 25))
      isDone = true
    }
    const endpoint = await runner.mount({ handle })
    await endpoint.expectAnswer('an order', await signedOrder(), 'handled')
    runner.demand(isDone, 'expected the handler to be done before the answer, but it was not')
  }),

  test('answer-duplicate: MUST answer what was handled before as a duplicate.', async (runner) => {
    const endpoint = await runner.mount()
    const order = await signedOrder()
    await endpoint.expectAnswer('an order', order, 'handled')
    await endpoint.expectAnswer('the order again', order, 'duplicate')
    await endpoint.expectAnswer('the order again, with a new signature', await order.signAgain(), 'duplicate')
  }),

  test('answer-unhandled: MUST accept a kind that has no handler.', async (runner) => {
    const endpoint = await runner.mount()
    await endpoint.expectAnswer(
      'an event.published',
      await signed(sampleEvent('event.published')),
      'unhandled',
    )
  }),

  test('answer-discarded: MUST accept what the handler discards, and not reveal the reason.', async (runner) => {
    const endpoint = await runner.mount({ handle: throwing(new Discard(INTERNAL)) })
    const order = await signedOrder()
    await endpoint.expectAnswer('an order that the handler discards', order, 'discarded')
    await endpoint.expectAnswer('the order again', order, 'duplicate')
  }),

  test('answer-failed: MUST answer that the handler failed, whatever it throws, and run it again on the next delivery.', async (runner) => {
    for (const [label, thrown] of [
      ['an error', new Error(INTERNAL)],
      ['a string', INTERNAL],
      ['nothing', undefined],
    ] as const) {
      let isMended = false
      const handle = async (): Promise<void> => {
        if (!isMended) throw thrown
      }
      const endpoint = await runner.mount({ handle })
      const order = await signedOrder()
      await endpoint.expectAnswer(`a handler that throws ${label}`, order, 'failed')
      isMended = true
      await endpoint.expectAnswer('the order again, for the fixed handler', order, 'handled')
    }
  }),

  test('answer-error: MUST NOT let an error decide the answer, nor reveal anything of it.', async (runner) => {
    const endpoint = await runner.mount({ handle: throwing(HTTP_ERROR) })
    await endpoint.expectAnswer('a handler that throws an HTTP error', await signedOrder(), 'failed')
  }),

  test('answer-retry-later: MUST send the Retry-After that the handler asked for.', async (runner) => {
    const endpoint = await runner.mount({
      handle: throwing(new RetryLater({ afterSeconds: 123, reason: INTERNAL })),
    })
    await endpoint.expectAnswer('a handler that throws RetryLater', await signedOrder(), {
      outcome: 'retry_later',
      retryAfterSeconds: 123,
    })
  }),

  test('answer-unprocessable: MUST ask for a retry of an authentic delivery whose data is invalid, and not reveal what is missing.', async (runner) => {
    const endpoint = await runner.mount()
    const data = { order: { id: INTERNAL, total_cents: INTERNAL } }
    const delivery = await signed(sampleEvent('order.created', { data, exact: true }))
    await endpoint.expectAnswer('an order.created without the documented fields', delivery, 'unprocessable')
  }),

  test('answer-misconfigured: MUST answer if the secret function throws or returns no secret, and never run the handler then.', async (runner) => {
    const failing = await runner.mount({ secret: throwing(new Error(INTERNAL)) })
    const expected = { outcome: 'unavailable', retryAfterSeconds: 5 } as const
    await failing.expectAnswer('a secret function that throws', await signedOrder(), expected)
    const finding = await runner.mount({ secret: async () => undefined })
    await finding.expectAnswer('a secret function that returns none', await signedOrder(), 'misconfigured')
  }),

  test('answer-in-flight: MUST send a Retry-After for an event that another process is handling.', async (runner) => {
    const endpoint = await runner.mount({
      store: { ...memoryStore(), claim: async () => ({ status: 'in_flight', retryAfterMs: 6500 }) },
    })
    await endpoint.expectAnswer('an order that another process handles', await signedOrder(), {
      outcome: 'in_flight',
      retryAfterSeconds: 7,
    })
  }),

  test('answer-unavailable: MUST send a Retry-After while the store is down, and not run the handler.', async (runner) => {
    const endpoint = await runner.mount({
      store: { ...memoryStore(), claim: async () => throwing(new Error(INTERNAL))() },
    })
    await endpoint.expectAnswer('an order while the store is down', await signedOrder(), {
      outcome: 'unavailable',
      retryAfterSeconds: 5,
    })
  }),

  test('answer-timed-out: MUST answer at timeoutSeconds, although the handler continues.', async (runner) => {
    const released = deferred()
    const endpoint = await runner.mount({ timeoutSeconds: 0.25, handle: () => released.promise })
    const expected = { outcome: 'timed_out', retryAfterSeconds: 5 } as const
    try {
      await endpoint.expectAnswer('a handler that takes too long', await signedOrder(), expected)
    } finally {
      released.resolve()
    }
  }),
]
