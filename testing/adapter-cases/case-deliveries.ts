import { signatureScheme } from '../../src/internal.js'
import { sampleEvent } from '../deliveries/sample-event.js'
import { type SignedBody, type SigningOptions, signedBody } from '../deliveries/signed-delivery.js'
import { testDelivery } from '../deliveries/test-delivery.js'
import { type AnyDelivery, SECRET } from './case-runner.js'

const utf8 = new TextEncoder()

/** Signs with the secret of the cases. A string is sent as bytes, so that no client adds a content type. */
export function signed(
  body: string | Uint8Array | object,
  options: Partial<SigningOptions> = {},
): Promise<SignedBody<Uint8Array>> {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  return signedBody(body instanceof Uint8Array ? body : utf8.encode(text), { secret: SECRET, ...options })
}

/** A new order, signed. */
export function signedOrder(options: Partial<SigningOptions> = {}): Promise<SignedBody<Uint8Array>> {
  return signed(sampleEvent('order.created'), options)
}

/** An order whose JSON has exactly this many bytes, padded with a character of one or more bytes. */
export function signedOrderOf(bytes: number, character = 'x'): Promise<SignedBody<Uint8Array>> {
  const event = { ...sampleEvent('order.created'), padding: '', rest: '' }
  const room = bytes - utf8.encode(JSON.stringify(event)).length
  const width = utf8.encode(character).length
  const padding = character.repeat(Math.floor(room / width))
  return signed({ ...event, padding, rest: 'x'.repeat(room % width) })
}

/** The same request with another body. */
export function withBody({ headers }: AnyDelivery, body: Uint8Array): AnyDelivery {
  return testDelivery(body, headers, signatureScheme().header)
}

/** The same request with these headers, and without those that are undefined. */
export function withHeaders(
  delivery: AnyDelivery,
  changes: Readonly<Record<string, string | undefined>>,
): AnyDelivery {
  const all = Object.entries({ ...delivery.headers, ...changes })
  const headers = Object.fromEntries(all.filter((entry): entry is [string, string] => entry[1] !== undefined))
  return {
    ...delivery,
    headers,
    toRequest: (url) => new Request(delivery.toRequest(url), { headers }),
    toInject: (url) => ({ ...delivery.toInject(url), headers: { ...headers } }),
  }
}
