import type { SignedDelivery } from './deliveries.js'
import type { HttpAnswer } from './http.js'

/** A delivery as a web-standard request. */
export function requestOf(
  { header, body }: SignedDelivery,
  headers: Record<string, string> = {},
  path = '/hooks',
): Request {
  return new Request(`http://localhost${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-service-signature': header, ...headers },
    body: body.slice(),
  })
}

/** A delivery whose body arrives in chunks, as over a network: without a declared length. */
export function streamedRequest(
  header: string,
  body: ReadableStream<Uint8Array>,
  headers: Record<string, string> = {},
): Request {
  const init: RequestInit & { duplex: 'half' } = {
    method: 'POST',
    headers: { 'x-service-signature': header, ...headers },
    body,
    duplex: 'half',
  }
  return new Request('http://localhost/hooks', init)
}

/** A whole answer, in the form of the socket client. */
export async function answerOf(response: Response): Promise<HttpAnswer> {
  return {
    status: response.status,
    headers: Object.fromEntries(response.headers),
    text: await response.text(),
  }
}

/** A platform's context: `waitUntil` works only as a method, as on Workers. */
export class PlatformContext {
  readonly #kept: Promise<unknown>[] = []
  readonly props = {}

  waitUntil(work: Promise<unknown>): void {
    this.#kept.push(work)
  }

  passThroughOnException(): void {}

  get kept(): readonly Promise<unknown>[] {
    return this.#kept
  }
}
