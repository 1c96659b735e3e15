import { gunzipSync } from 'node:zlib'
import {
  answerTo,
  createReceiver,
  type Delivery,
  memoryStore,
  type Outcome,
  type OutcomeName,
  type Receiver,
  type WebhookOptions,
} from 'tix-webhooks'
import { requestBody } from 'tix-webhooks/fetch'
import type { AdapterHarness } from 'tix-webhooks/testing'
import { byRequest } from '../adapter-harnesses.js'
import { type Faults, type Patch, patched } from './patched.js'

/** An adapter that is right, in the parts that a fault can replace. */
class PlainAdapter {
  receiver!: Receiver

  receiverOf(options: WebhookOptions): Receiver {
    return createReceiver(options)
  }

  deliveryOf(request: Request): Delivery<unknown> {
    const { headers } = request
    return {
      header: headers.get(this.receiver.headerName),
      body: requestBody(request),
      request,
      contentEncoding: headers.get('content-encoding'),
    }
  }

  respond(outcome: Outcome): Response {
    const { status, headers, body } = answerTo(outcome)
    return new Response(body, { status, headers })
  }

  async handle(request: Request): Promise<Response> {
    return this.respond(await this.receiver.receive(this.deliveryOf(request)))
  }
}

/** A harness for adapters of `Request`s. */
export function adapterHarness(patch: Patch<PlainAdapter> = () => ({}), timeoutSeconds = 4): AdapterHarness {
  const mounted = byRequest((options) => {
    const adapter = patched(new PlainAdapter(), patch)
    adapter.receiver = adapter.receiverOf(options)
    return (request) => adapter.handle(request)
  })
  return { ...mounted, timeoutSeconds }
}

/** Changes the delivery. */
export function delivering(
  change: (delivery: Delivery<unknown>, request: Request) => Partial<Delivery<unknown>>,
): Patch<PlainAdapter> {
  return (right) => ({
    deliveryOf(request) {
      const delivery = right.deliveryOf(request)
      return { ...delivery, ...change(delivery, request) }
    },
  })
}

const typeOf = ({ headers }: Request): string => headers.get('content-type') ?? ''

/** Makes something else of the bytes. */
function bytes(change: (bytes: Uint8Array, request: Request) => Uint8Array): Patch<PlainAdapter> {
  return delivering((_, request) => ({
    body: async (maxBytes) => change(await requestBody(request)(maxBytes), request),
  }))
}

/** Makes something else of the text, as a body parser has it. */
const text = (change: (text: string) => string): Patch<PlainAdapter> =>
  bytes((body) => new TextEncoder().encode(change(new TextDecoder().decode(body))))

/** Passes on nothing of a body whose type it does not parse, as body parsers do. */
const parsing = (takes: (type: string) => boolean): Patch<PlainAdapter> =>
  bytes((body, request) => (takes(typeOf(request)) ? body : new Uint8Array()))

/** Changes the options. */
const options =
  (optionsOf: (options: WebhookOptions) => WebhookOptions): Patch<PlainAdapter> =>
  (right) => ({ receiverOf: (given) => right.receiverOf(optionsOf(given)) })

/** Accepts so many bytes at most, whatever the receiver allows. */
const limited = (most: number): Patch<PlainAdapter> =>
  options((given) => ({ ...given, maxBodyBytes: Math.min(most, given.maxBodyBytes ?? most) }))

/** Faults in how the bytes are passed on. */
const BODIES: Faults<PlainAdapter> = {
  'body-spacing, re-serialised-body, content-type-unknown': text((body) => JSON.stringify(JSON.parse(body))),
  'body-decoded, body-bytes, body-mark': text((body) => body),
  'body-mark, body-mark-unsigned': bytes((body) => (body[0] === 0xef ? body.subarray(3) : body)),
  'body-text': text((body) => body.normalize()),
  // Refuses names that could be an attack on a prototype.
  'body-names': text((body) => (body.includes('__proto__') ? '' : body)),
  'content-type-text, content-type-unknown': bytes((body, request) => {
    const charset = typeOf(request).split('charset=')[1]
    return charset === undefined ? body : Buffer.from(new TextDecoder(charset).decode(body))
  }),
  'content-type-text, content-type-form, content-type-binary, content-type-nonsense': parsing((type) =>
    type.includes('json'),
  ),
  'content-type-none': parsing((type) => type !== ''),
  'content-type-multipart': parsing((type) => !type.startsWith('multipart/')),
  'encoding-kept': bytes((body, { headers }) =>
    headers.get('content-encoding') === 'gzip' ? gunzipSync(body) : body,
  ),
  'size-large, size-largest': limited(102_400),
  'size-largest': limited(1_000_000),
  'size-raised': limited(1_048_576),
  'size-limit, size-bytes, size-too-large': [
    options((given) => ({ ...given, maxBodyBytes: 1e9 })),
    delivering((_, request) => ({
      body: async (maxBytes) => (await requestBody(request)(1e9)).subarray(0, maxBytes),
    })),
  ],
  'size-small, empty-body': (right) => ({
    async handle(request) {
      const { size } = await request.clone().blob()
      return size === 0 ? new Response('no body', { status: 400 }) : right.handle(request)
    },
  }),
}

let shared: Receiver | undefined

/** Faults in what is passed on beside the bytes, and in what is kept between deliveries. */
const REQUESTS: Faults<PlainAdapter> = {
  'request-own, together-answers': (right) => {
    let first: unknown
    return delivering((_, request) => {
      first ??= request
      return { request: first }
    })(right)
  },
  // A request of its own for the secret function.
  'request-given': options((given) => {
    const { secret } = given
    return { ...given, secret: typeof secret === 'function' ? () => secret({}) : secret }
  }),
  'header-name': [
    delivering((_, { headers }) => ({ header: headers.get('x-service-signature') })),
    // By the name as it was given.
    (right) => {
      let name = 'x-service-signature'
      return {
        ...delivering((_, { headers }) => ({ header: Object.fromEntries(headers)[name] ?? null }))(right),
        receiverOf(given) {
          name = given.signature?.header ?? name
          return right.receiverOf(given)
        },
      }
    },
  ],
  'header-signatures': delivering(({ header }) => ({
    header: String(header).split(',').slice(0, 2).join(','),
  })),
  'request-secrets': [
    options(({ secret, ...given }) => ({ ...given, secret: Array.isArray(secret) ? secret[0] : secret })),
  ],
  // Passes on the options that it knows.
  'request-options, answer-timed-out, answer-in-flight, answer-unavailable, size-limit': options(
    ({ secret, on, signature, onError }) => ({
      secret,
      on,
      onError: onError as () => void,
      ...(signature && { signature }),
    }),
  ),
  'encoding-told': delivering(() => ({ contentEncoding: null })),
  // Falls back to a secret of its own.
  'answer-misconfigured': options((given) => {
    const { secret } = given
    if (typeof secret !== 'function') return given
    return { ...given, secret: async (request) => (await secret(request)) ?? 'whsec_of_the_adapter_cases' }
  }),
  'answer-unavailable': options((given) =>
    given.store === undefined ? given : { ...given, store: memoryStore() },
  ),
  'answer-duplicate, duplicate, concurrent-burst': options((given) => ({ ...given, key: () => null })),
  'together-answers': [
    // Keeps the outcome for the next delivery.
    (right) => {
      let last: Outcome = { outcome: 'handled' }
      return {
        async handle(request) {
          await right.handle(request)
          return right.respond(last)
        },
        respond(outcome) {
          last = outcome
          return right.respond(outcome)
        },
      }
    },
    // Handles one delivery at a time.
    (right) => {
      let last: Promise<unknown> = Promise.resolve()
      return {
        handle(request) {
          const next = last.then(() => right.handle(request))
          last = next
          return next
        },
      }
    },
  ],
  // One receiver for all endpoints.
  'together-apart': () => ({
    receiverOf(given) {
      shared ??= createReceiver(given)
      return shared
    },
  }),
  // Refuses everybody after a forged delivery.
  'wrong-secret, stale, future, other-endpoints-secret': (right) => {
    let isShut = false
    return {
      async handle(request) {
        return isShut ? right.respond({ outcome: 'unauthenticated' }) : right.handle(request)
      },
      respond(outcome) {
        isShut ||= outcome.outcome === 'unauthenticated'
        return right.respond(outcome)
      },
    }
  },
}

/** Makes something else of the response to an outcome. */
const responding =
  (change: (response: Response, outcome: Outcome) => Response): Patch<PlainAdapter> =>
  (right) => ({ respond: (outcome) => change(right.respond(outcome), outcome) })

/** Sends another status for some outcomes. */
const answering = (statuses: Partial<Record<OutcomeName, number>>): Patch<PlainAdapter> =>
  responding(({ status, headers }, { outcome }) => {
    return new Response(JSON.stringify({ outcome }), { status: statuses[outcome] ?? status, headers })
  })

/** Changes the headers. */
const heading = (change: (headers: Headers, outcome: Outcome) => void): Patch<PlainAdapter> =>
  responding((response, outcome) => {
    change(response.headers, outcome)
    return response
  })

const errorOf = ({ error }: Outcome) => (error ?? {}) as { message?: string; status?: number }

const REFUSALS =
  'missing-header, malformed-header, tampered-byte, re-serialised-body, wrong-secret, stale, future, truncated, other-endpoints-secret, empty-body, not-json, not-an-envelope'

/** Faults in the answer. */
const ANSWERS: Faults<PlainAdapter> = {
  [`${REFUSALS}, answer-failed, answer-misconfigured, answer-unprocessable, size-too-large`]: responding(() =>
    Response.json({ outcome: 'handled' }),
  ),
  // Before the handler is done.
  'answer-handled, answer-failed, answer-timed-out': (right) => ({
    async handle(request) {
      void right.handle(request)
      await new Promise((resolve) => setImmediate(resolve))
      return right.respond({ outcome: 'handled' })
    },
  }),
  'answer-handled, missing-header': responding(
    ({ status, headers }) => new Response(null, { status, headers }),
  ),
  'answer-handled': [answering({ handled: 202 }), heading((headers) => headers.delete('content-type'))],
  'answer-duplicate, duplicate': answering({ duplicate: 409 }),
  'answer-unhandled, unknown-kind': answering({ unhandled: 404 }),
  'answer-discarded': answering({ discarded: 410 }),
  'wrong-secret, body-mark-unsigned': answering({ unauthenticated: 403 }),
  'answer-unprocessable, not-json, not-an-envelope': answering({ unprocessable: 422 }),
  'answer-in-flight, concurrent-burst': answering({ in_flight: 429 }),
  'answer-timed-out': answering({ timed_out: 504 }),
  'answer-retry-later, answer-in-flight, answer-unavailable, answer-timed-out': heading((headers) =>
    headers.delete('retry-after'),
  ),
  'answer-retry-later, answer-in-flight': heading((headers) => {
    if (headers.has('retry-after')) headers.set('retry-after', '5')
  }),
  'answer-handled, answer-failed': heading((headers) => headers.set('retry-after', '5')),
  'answer-failed, answer-discarded, answer-retry-later': responding(({ status, headers }, outcome) =>
    Response.json({ outcome: outcome.outcome, message: errorOf(outcome).message }, { status, headers }),
  ),
  'answer-failed, answer-error, answer-discarded': heading((headers, outcome) =>
    headers.set('x-error', errorOf(outcome).message ?? ''),
  ),
  'answer-error': responding(({ status, headers }, outcome) => {
    return new Response(answerTo(outcome).body, { status: errorOf(outcome).status ?? status, headers })
  }),
}

/** Faulty adapters. */
export const FAULTY_ADAPTERS: Faults<PlainAdapter> = { ...BODIES, ...REQUESTS, ...ANSWERS }
