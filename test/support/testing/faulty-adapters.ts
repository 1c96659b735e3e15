import { gunzipSync } from 'node:zlib'
import {
  answerTo,
  createReceiver,
  memoryStore,
  type Outcome,
  type OutcomeName,
  type Receiver,
  type WebhookOptions,
} from 'tix-webhooks'
import { requestBody } from 'tix-webhooks/fetch'
import { type Fault, faultOf, type Patch } from './patched.js'
import { type PlainAdapter, readAs, readAsText } from './plain-adapter.js'

const fault = faultOf<PlainAdapter>

const typeOf = ({ headers }: Request): string => headers.get('content-type') ?? ''

/** Makes something else of the bytes. */
const bytes =
  (change: (bytes: Uint8Array) => Uint8Array): Patch<PlainAdapter> =>
  () => ({ bodyOf: (request) => readAs(request, change) })

/** Makes something else of the text. */
const text =
  (change?: (text: string) => string): Patch<PlainAdapter> =>
  () => ({ bodyOf: (request) => readAsText(request, change) })

/** Passes on nothing of a body whose type it does not parse, as body parsers do. */
const parsing =
  (takes: (type: string) => boolean): Patch<PlainAdapter> =>
  (right) => ({
    bodyOf: (request) => (takes(typeOf(request)) ? right.bodyOf(request) : async () => new Uint8Array()),
  })

/** Changes the options. */
const options =
  (optionsOf: (options: WebhookOptions) => WebhookOptions): Patch<PlainAdapter> =>
  () => ({ optionsOf })

/** Accepts so many bytes at most, whatever the receiver allows. */
const limited = (most: number): Patch<PlainAdapter> =>
  options((given) => ({ ...given, maxBodyBytes: Math.min(most, given.maxBodyBytes ?? most) }))

/** Faults in how the bytes are passed on. */
const BODIES: readonly Fault<PlainAdapter>[] = [
  fault(
    'serializes the body again after parsing it',
    ['body-spacing', 're-serialised-body', 'content-type-unknown'],
    text((body) => JSON.stringify(JSON.parse(body))),
  ),
  fault('decodes the body as text', ['body-decoded', 'body-bytes', 'body-mark'], text()),
  fault(
    'removes a byte order mark',
    ['body-mark', 'body-mark-unsigned'],
    bytes((body) => (body[0] === 0xef ? body.subarray(3) : body)),
  ),
  fault(
    'trims the body',
    ['body-spacing', 'tampered-byte'],
    bytes((body) => Buffer.from(Buffer.from(body).toString('latin1').trim(), 'latin1')),
  ),
  fault(
    'normalises text',
    'body-text',
    text((body) => body.normalize()),
  ),
  fault(
    'parses the body before, and refuses names that could be an attack on a prototype',
    'body-names',
    text((body) => (body.includes('__proto__') ? '' : body)),
  ),
  fault('decodes the body by the charset of its type', ['content-type-text', 'content-type-unknown'], () => ({
    bodyOf(request) {
      const charset = typeOf(request).split('charset=')[1]
      if (charset === undefined) return requestBody(request)
      return readAs(request, (body) => new TextEncoder().encode(new TextDecoder(charset).decode(body)))
    },
  })),
  fault(
    'accepts only JSON',
    ['content-type-text', 'content-type-form', 'content-type-binary', 'content-type-nonsense'],
    parsing((type) => type.includes('json')),
  ),
  fault(
    'accepts no body without a type',
    'content-type-none',
    parsing((type) => type !== ''),
  ),
  fault(
    'leaves forms in parts to another parser',
    'content-type-multipart',
    parsing((type) => !type.startsWith('multipart/')),
  ),
  fault('inflates the body', 'encoding-kept', (right) => ({
    bodyOf: (request) =>
      right.encodingOf(request) === 'gzip'
        ? readAs(request, (body) => gunzipSync(body))
        : requestBody(request),
  })),
  fault(
    'accepts no body over 100 KB, as a parser before it does',
    ['size-large', 'size-largest'],
    limited(102_400),
  ),
  fault('takes a megabyte for 1,000,000 bytes', 'size-largest', limited(1_000_000)),
  fault('has a limit of its own', 'size-raised', limited(1_048_576)),
  fault(
    'drops what is over 64 KiB',
    'size-large',
    bytes((body) => body.subarray(0, 65_536)),
  ),
  fault(
    'ignores maxBodyBytes',
    ['size-limit', 'size-bytes', 'size-too-large'],
    options((given) => ({ ...given, maxBodyBytes: 1e9 })),
  ),
  fault('cuts off what is over the limit', ['size-too-large', 'size-limit'], () => ({
    bodyOf: (request) => async (maxBytes) => (await requestBody(request)(1e9)).subarray(0, maxBytes),
  })),
  fault('counts characters', 'size-bytes', () => ({
    optionsOf: (given) => ({ ...given, maxBodyBytes: 2 * (given.maxBodyBytes ?? 1_048_576) }),
    bodyOf: (request) => async (twice) => {
      const body = await requestBody(request)(twice)
      if (new TextDecoder().decode(body).length * 2 <= twice) return body
      throw Object.assign(new Error('too long'), { code: 'too_large' })
    },
  })),
  fault('takes an empty body for none', ['size-small', 'empty-body'], (right) => ({
    async handle(request) {
      const { size } = await request.clone().blob()
      return size === 0 ? new Response('no body', { status: 400 }) : right.handle(request)
    },
  })),
]

let shared: Receiver | undefined

/** Faults in what is passed on beside the bytes, and in what is kept between deliveries. */
const REQUESTS: readonly Fault<PlainAdapter>[] = [
  fault('passes on no request', 'request-given', () => ({ requestOf: () => undefined })),
  fault('passes on the request that came first', ['request-own', 'together-answers'], () => {
    let first: unknown
    return {
      requestOf(request) {
        first ??= request
        return first
      },
    }
  }),
  fault(
    'passes a request of its own to the secret function',
    'request-given',
    options((given) => {
      const { secret } = given
      return { ...given, secret: typeof secret === 'function' ? () => secret({}) : secret }
    }),
  ),
  fault('finds the header by its default name', 'header-name', () => ({
    headerOf: ({ headers }) => headers.get('x-service-signature'),
  })),
  fault('finds the header by the name as it was given', 'header-name', (right) => {
    let name = ''
    return {
      receiverOf(given) {
        const receiver = right.receiverOf(given)
        name = given.signature?.header ?? receiver.headerName
        return receiver
      },
      headerOf: ({ headers }) => Object.fromEntries(headers)[name] ?? null,
    }
  }),
  fault('takes the first two items of the header', 'header-signatures', (right) => ({
    headerOf: (request) => right.headerOf(request)?.split(',').slice(0, 2).join(',') ?? null,
  })),
  fault(
    'takes the first of several secrets',
    'request-secrets',
    options(({ secret, ...given }) => ({ ...given, secret: Array.isArray(secret) ? secret[0] : secret })),
  ),
  fault(
    'passes on the secrets in an order of its own',
    'request-secrets',
    options(({ secret, ...given }) => ({
      ...given,
      secret: Array.isArray(secret) ? [...secret].reverse() : secret,
    })),
  ),
  fault(
    'keeps the records for itself',
    'request-options',
    options(({ onDelivery: _, ...given }) => given),
  ),
  fault(
    'passes on the options that it knows',
    ['request-options', 'answer-timed-out', 'answer-in-flight', 'answer-unavailable', 'size-limit'],
    options(({ secret, on, signature, onError }) => ({
      secret,
      on,
      onError: onError as () => void,
      ...(signature && { signature }),
    })),
  ),
  fault('passes on no content-encoding', 'encoding-told', () => ({ encodingOf: () => null })),
  fault(
    'falls back to a secret of its own',
    'answer-misconfigured',
    options((given) => {
      const { secret } = given
      if (typeof secret !== 'function') return given
      return { ...given, secret: async (request) => (await secret(request)) ?? 'whsec_of_the_adapter_cases' }
    }),
  ),
  fault(
    'uses a store of its own',
    'answer-unavailable',
    options((given) => (given.store === undefined ? given : { ...given, store: memoryStore() })),
  ),
  fault(
    'remembers nothing',
    ['answer-duplicate', 'duplicate', 'concurrent-burst'],
    options((given) => ({ ...given, key: () => null })),
  ),
  fault('keeps the outcome for the next delivery', 'together-answers', (right) => {
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
  }),
  fault('keeps the header for the next delivery', 'together-answers', (right) => {
    let last: string | null = null
    return {
      async handle(request) {
        last = right.headerOf(request)
        await Promise.resolve()
        return right.handle(request)
      },
      headerOf: () => last,
    }
  }),
  fault('handles one delivery at a time', 'together-answers', (right) => {
    let queue: Promise<unknown> = Promise.resolve()
    return {
      handle(request) {
        const next = queue.then(() => right.handle(request))
        queue = next
        return next
      },
    }
  }),
  fault('has one receiver for all endpoints', 'together-apart', () => ({
    receiverOf(given) {
      shared ??= createReceiver(given)
      return shared
    },
  })),
  fault(
    'refuses everybody after a forged delivery',
    ['wrong-secret', 'stale', 'future', 'other-endpoints-secret'],
    (right) => {
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
  ),
]

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

const messageOf = ({ error }: Outcome): string => {
  const { message = '' } = (error ?? {}) as Partial<Error>
  return message
}

const REFUSALS = [
  'missing-header',
  'malformed-header',
  'tampered-byte',
  're-serialised-body',
  'wrong-secret',
  'stale',
  'future',
  'truncated',
  'other-endpoints-secret',
  'empty-body',
  'not-json',
  'not-an-envelope',
]

/** Faults in the answer. */
const ANSWERS: readonly Fault<PlainAdapter>[] = [
  fault(
    'answers 200 to everything',
    [...REFUSALS, 'answer-failed', 'answer-misconfigured', 'answer-unprocessable', 'size-too-large'],
    responding(() => Response.json({ outcome: 'handled' })),
  ),
  fault(
    'answers before the handler is done',
    ['answer-handled', 'answer-failed', 'answer-timed-out'],
    (right) => ({
      async handle(request) {
        void right.handle(request)
        await new Promise((resolve) => setImmediate(resolve))
        return right.respond({ outcome: 'handled' })
      },
    }),
  ),
  fault(
    'answers with a status alone',
    ['answer-handled', 'missing-header'],
    responding(({ status, headers }) => new Response(null, { status, headers })),
  ),
  fault('answers 202 to what it handled', 'answer-handled', answering({ handled: 202 })),
  fault(
    'answers 409 to what was handled before',
    ['answer-duplicate', 'duplicate'],
    answering({ duplicate: 409 }),
  ),
  fault(
    'answers 404 to a kind without a handler',
    ['answer-unhandled', 'unknown-kind'],
    answering({ unhandled: 404 }),
  ),
  fault('answers 410 to what is discarded', 'answer-discarded', answering({ discarded: 410 })),
  fault(
    'answers 403 to a wrong signature',
    ['wrong-secret', 'body-mark-unsigned'],
    answering({ unauthenticated: 403 }),
  ),
  fault(
    'answers 422 to what is no event',
    ['answer-unprocessable', 'not-json', 'not-an-envelope'],
    answering({ unprocessable: 422 }),
  ),
  fault(
    'answers 429 to what is in flight',
    ['answer-in-flight', 'concurrent-burst'],
    answering({ in_flight: 429 }),
  ),
  fault('answers 504 at the deadline', 'answer-timed-out', answering({ timed_out: 504 })),
  fault(
    'drops Retry-After',
    ['answer-retry-later', 'answer-in-flight', 'answer-unavailable', 'answer-timed-out'],
    heading((headers) => headers.delete('retry-after')),
  ),
  fault(
    'sends another Retry-After',
    ['answer-retry-later', 'answer-in-flight'],
    heading((headers) => {
      if (headers.has('retry-after')) headers.set('retry-after', '5')
    }),
  ),
  fault(
    'sends Retry-After always',
    ['answer-handled', 'answer-failed'],
    heading((headers) => headers.set('retry-after', '5')),
  ),
  fault(
    'drops the content-type',
    'answer-handled',
    heading((headers) => headers.delete('content-type')),
  ),
  fault(
    'sends another content-type',
    'answer-handled',
    heading((headers) => headers.set('content-type', 'text/plain')),
  ),
  fault(
    'sends the message of an error in the body',
    ['answer-failed', 'answer-discarded', 'answer-retry-later'],
    responding(({ status, headers }, outcome) =>
      Response.json({ outcome: outcome.outcome, message: messageOf(outcome) }, { status, headers }),
    ),
  ),
  fault(
    'sends the message of an error in a header',
    ['answer-failed', 'answer-error', 'answer-discarded'],
    heading((headers, outcome) => headers.set('x-error', messageOf(outcome))),
  ),
  fault(
    'lets an error decide the status',
    'answer-error',
    responding(({ status, headers }, outcome) => {
      const { status: wanted = status } = (outcome.error ?? {}) as { status?: number }
      return new Response(answerTo(outcome).body, { status: wanted, headers })
    }),
  ),
  fault('does not answer when the handler fails', 'answer-failed', (right) => ({
    async handle(request) {
      const response = await right.handle(request)
      return response.ok ? response : new Promise(() => {})
    },
  })),
]

/** Faulty adapters. */
export const FAULTY_ADAPTERS: readonly Fault<PlainAdapter>[] = [...BODIES, ...REQUESTS, ...ANSWERS]
