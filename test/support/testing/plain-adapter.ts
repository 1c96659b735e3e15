import {
  answerTo,
  type BodyReader,
  createReceiver,
  type Outcome,
  type Receiver,
  type WebhookOptions,
} from 'tix-webhooks'
import { requestBody } from 'tix-webhooks/fetch'
import type { AdapterAnswer, AdapterHarness } from 'tix-webhooks/testing'
import { byRequest } from '../adapter-harnesses.js'

/** An adapter whose every part a faulty one can get wrong. */
export class PlainAdapter {
  readonly receiver: Receiver

  constructor(options: WebhookOptions) {
    this.receiver = this.receiverOf(options)
  }

  receiverOf(options: WebhookOptions): Receiver {
    return createReceiver(this.optionsOf(options))
  }

  optionsOf(options: WebhookOptions): WebhookOptions {
    return options
  }

  headerOf({ headers }: Request): string | null {
    return headers.get(this.receiver.headerName)
  }

  bodyOf(request: Request): BodyReader {
    return requestBody(request)
  }

  requestOf(request: Request): unknown {
    return request
  }

  encodingOf({ headers }: Request): string | null {
    return headers.get('content-encoding')
  }

  respond(outcome: Outcome): Response {
    const { status, headers, body } = answerTo(outcome)
    return new Response(body, { status, headers })
  }

  async handle(request: Request): Promise<Response> {
    const outcome = await this.receiver.receive({
      header: this.headerOf(request),
      body: this.bodyOf(request),
      request: this.requestOf(request),
      contentEncoding: this.encodingOf(request),
    })
    return this.respond(outcome)
  }
}

/** An adapter with one fault, and the cases that must see it. */
export interface AdapterFault {
  readonly fault: string
  readonly seenBy: readonly string[]
  readonly Adapter: new (options: WebhookOptions) => PlainAdapter
}

/** A harness for adapters of `Request`s. */
export function harnessOf(Adapter: AdapterFault['Adapter'], timeoutSeconds = 4): AdapterHarness {
  const mounted = byRequest((options) => {
    const adapter = new Adapter(options)
    return (request) => adapter.handle(request)
  })
  return { ...mounted, timeoutSeconds }
}

/** A reader that makes something of the bytes. */
export function readAs(
  request: Request,
  change: (bytes: Uint8Array) => Uint8Array | Promise<Uint8Array>,
): BodyReader {
  const read = requestBody(request)
  return async (maxBytes) => change(await read(maxBytes))
}

/** A reader that makes something of the text, as a body parser has it. */
export function readAsText(request: Request, change: (text: string) => string = (text) => text): BodyReader {
  return readAs(request, (bytes) => new TextEncoder().encode(change(new TextDecoder().decode(bytes))))
}

/** An adapter that is right, whose client gives its answers in another way. */
export function answeringWith(give: (answer: AdapterAnswer) => AdapterAnswer): AdapterHarness {
  const correct = harnessOf(PlainAdapter)
  return {
    async mount(options) {
      const { send, close } = await correct.mount(options)
      return { send: async (delivery) => give(await send(delivery)), close }
    },
  }
}
