import { createReceiver, memoryStore, type Outcome, type Receiver, type WebhookOptions } from 'tix-webhooks'
import { type AdapterFault, PlainAdapter } from './plain-adapter.js'

/** The options with some of them taken away, or put in. */
function withOptions(change: (options: WebhookOptions) => WebhookOptions): AdapterFault['Adapter'] {
  return class extends PlainAdapter {
    override optionsOf(options: WebhookOptions): WebhookOptions {
      return change(options)
    }
  }
}

let shared: Receiver | undefined

/** Faults in what is handed on beside the bytes, and in what is kept between deliveries. */
export const FAULTY_REQUESTS: readonly AdapterFault[] = [
  {
    fault: 'hands on no request',
    seenBy: ['request-given'],
    Adapter: class extends PlainAdapter {
      override requestOf(): undefined {}
    },
  },
  {
    fault: 'hands on the request that came first',
    seenBy: ['request-own', 'together-answers'],
    Adapter: class extends PlainAdapter {
      first: unknown

      override requestOf(request: Request): unknown {
        this.first ??= request
        return this.first
      }
    },
  },
  {
    fault: 'hands the secret function a request of its own',
    seenBy: ['request-given'],
    Adapter: withOptions((options) => {
      const { secret } = options
      return { ...options, secret: typeof secret === 'function' ? () => secret({}) : secret }
    }),
  },
  {
    fault: 'looks the header up by its default name',
    seenBy: ['header-name'],
    Adapter: class extends PlainAdapter {
      override headerOf({ headers }: Request): string | null {
        return headers.get('x-service-signature')
      }
    },
  },
  {
    fault: 'looks the header up by the name as it was given',
    seenBy: ['header-name'],
    Adapter: class extends PlainAdapter {
      override receiverOf(options: WebhookOptions): Receiver {
        const receiver = super.receiverOf(options)
        return { ...receiver, headerName: options.signature?.header ?? receiver.headerName }
      }

      override headerOf({ headers }: Request): string | null {
        return Object.fromEntries(headers)[this.receiver.headerName] ?? null
      }
    },
  },
  {
    fault: 'takes the first two items of the header',
    seenBy: ['header-signatures'],
    Adapter: class extends PlainAdapter {
      override headerOf(request: Request): string | null {
        return super.headerOf(request)?.split(',').slice(0, 2).join(',') ?? null
      }
    },
  },
  {
    fault: 'takes the first of several secrets',
    seenBy: ['request-secrets'],
    Adapter: withOptions(({ secret, ...options }) => ({
      ...options,
      secret: Array.isArray(secret) ? secret[0] : secret,
    })),
  },
  {
    fault: 'hands on the secrets in an order of its own',
    seenBy: ['request-secrets'],
    Adapter: withOptions(({ secret, ...options }) => ({
      ...options,
      secret: Array.isArray(secret) ? [...secret].reverse() : secret,
    })),
  },
  {
    fault: 'keeps the records for itself',
    seenBy: ['request-options'],
    Adapter: withOptions(({ onDelivery: _, ...options }) => options),
  },
  {
    fault: 'hands on the options that it knows',
    seenBy: ['request-options', 'answer-timed-out', 'answer-in-flight', 'answer-unavailable', 'size-limit'],
    Adapter: withOptions(({ secret, on, signature, onError }) => ({
      secret,
      on,
      onError: onError as () => void,
      ...(signature && { signature }),
    })),
  },
  {
    fault: 'hands on no content-encoding',
    seenBy: ['encoding-told'],
    Adapter: class extends PlainAdapter {
      override encodingOf(): null {
        return null
      }
    },
  },
  {
    fault: 'falls back to a secret of its own',
    seenBy: ['answer-misconfigured'],
    Adapter: withOptions((options) => {
      const { secret } = options
      if (typeof secret !== 'function') return options
      return {
        ...options,
        secret: async (request) => (await secret(request)) ?? 'whsec_of_the_adapter_cases',
      }
    }),
  },
  {
    fault: 'uses a store of its own',
    seenBy: ['answer-unavailable'],
    Adapter: withOptions((options) =>
      options.store === undefined ? options : { ...options, store: memoryStore() },
    ),
  },
  {
    fault: 'remembers nothing',
    seenBy: ['answer-duplicate', 'duplicate', 'concurrent-burst'],
    Adapter: withOptions((options) => ({ ...options, key: () => null })),
  },
  {
    fault: 'keeps the outcome where the next delivery finds it',
    seenBy: ['together-answers'],
    Adapter: class extends PlainAdapter {
      last: Outcome = { outcome: 'handled' }

      override async handle(request: Request): Promise<Response> {
        const response = super.handle(request)
        await response
        return super.respond(this.last)
      }

      override respond(outcome: Outcome): Response {
        this.last = outcome
        return super.respond(outcome)
      }
    },
  },
  {
    fault: 'keeps the header where the next delivery finds it',
    seenBy: ['together-answers'],
    Adapter: class extends PlainAdapter {
      last: string | null = null

      override async handle(request: Request): Promise<Response> {
        this.last = super.headerOf(request)
        await Promise.resolve()
        return super.handle(request)
      }

      override headerOf(): string | null {
        return this.last
      }
    },
  },
  {
    fault: 'handles one delivery at a time',
    seenBy: ['together-answers'],
    Adapter: class extends PlainAdapter {
      queue: Promise<unknown> = Promise.resolve()

      override handle(request: Request): Promise<Response> {
        const next = this.queue.then(() => super.handle(request))
        this.queue = next
        return next
      }
    },
  },
  {
    fault: 'has one receiver for all endpoints',
    seenBy: ['together-apart'],
    Adapter: class extends PlainAdapter {
      override receiverOf(options: WebhookOptions): Receiver {
        shared ??= createReceiver(options)
        return shared
      }
    },
  },
  {
    fault: 'shuts out everybody for a while after a forged delivery',
    seenBy: ['wrong-secret', 'stale', 'future', 'other-endpoints-secret'],
    Adapter: class extends PlainAdapter {
      isShut = false

      override async handle(request: Request): Promise<Response> {
        if (this.isShut) return super.respond({ outcome: 'unauthenticated' })
        return super.handle(request)
      }

      override respond(outcome: Outcome): Response {
        this.isShut ||= outcome.outcome === 'unauthenticated'
        return super.respond(outcome)
      }
    },
  },
]
