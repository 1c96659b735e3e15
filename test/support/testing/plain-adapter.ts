import {
  answerTo,
  type BodyReader,
  createReceiver,
  type Outcome,
  type Receiver,
  type WebhookOptions,
} from 'tix-webhooks'
import { requestBody } from 'tix-webhooks/fetch'
import type { AdapterHarness } from 'tix-webhooks/testing'
import { byRequest } from '../adapter-harnesses.js'
import { type Patch, patched } from './patched.js'

/** An adapter that is right, in the parts that a fault can replace. */
export class PlainAdapter {
  receiver!: Receiver

  open(options: WebhookOptions): this {
    this.receiver = this.receiverOf(options)
    return this
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

/** A harness for adapters of `Request`s. */
export function adapterHarness(patch: Patch<PlainAdapter> = () => ({}), timeoutSeconds = 4): AdapterHarness {
  const mounted = byRequest((options) => {
    const adapter = patched(new PlainAdapter(), patch).open(options)
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
