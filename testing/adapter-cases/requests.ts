import { type AdapterCase, test } from './adapter-case.js'
import { signed, signedOrder, withHeaders } from './case-deliveries.js'
import type { AnyDelivery } from './case-runner.js'
import { OTHER_SECRET, SECRET } from './case-runner.js'

/** `{"type":"order.created"}` compressed by gzip: not JSON, unless a layer inflates it. */
const GZIPPED = 'H4sIAAAAAAAAA6tWKqksSFWyUsovSkkt0ksuSk0sSU1RqgUA1ams3hgAAAA='

/** The request, its headers and the options. */
export const requestCases: readonly AdapterCase[] = [
  test("request-given: MUST pass the framework's own request to the secret function, the key function and the handler.", async (runner) => {
    const seen: unknown[] = []
    const endpoint = await runner.mount({
      secret: (request) => {
        seen.push(request)
        return SECRET
      },
      key: (_event, { request }) => {
        seen.push(request)
        return 'the key'
      },
      handle: (_event, { request }) => seen.push(request),
    })
    await endpoint.expectAnswer('an order', await signedOrder(), 'handled')
    const [request] = seen
    runner.demand(
      typeof request === 'object' && request !== null,
      `expected an object as the request, but it was ${request === null ? 'null' : typeof request}`,
    )
    runner.demand(
      seen.every((one) => one === request),
      'expected the same request for all, but they differ',
    )
  }),

  test('request-own: MUST pass another request with each delivery.', async (runner) => {
    const endpoint = await runner.mount()
    await endpoint.expectAnswer('an order', await signedOrder(), 'handled')
    await endpoint.expectAnswer('another order', await signedOrder(), 'handled')
    const [first, second] = endpoint.runs
    runner.demand(
      first?.ctx.request !== second?.ctx.request,
      'expected two requests, but both handlers got the same one',
    )
  }),

  test('header-name: MUST read the header that signature.header names, and no other.', async (runner) => {
    const signature = { header: 'X-Tickets-Signature' }
    const endpoint = await runner.mount({ signature })
    await endpoint.expectAnswer('an order with this header', await signedOrder({ signature }), 'handled')
    await endpoint.expectAnswer('an order with the usual header', await signedOrder(), 'malformed')
  }),

  test('header-signatures: MUST pass on the whole header, which may have several signatures, and spaces.', async (runner) => {
    const endpoint = await runner.mount()
    const rotating = await signedOrder({ secret: [OTHER_SECRET, SECRET] })
    await endpoint.expectAnswer('an order that is signed by two secrets', rotating, 'handled')
    const order = await signedOrder()
    const spaced = withHeaders(order, { 'x-service-signature': order.header.replaceAll(',', ' , ') })
    await endpoint.expectAnswer('an order with spaces in its header', spaced, 'handled')
  }),

  test('request-secrets: MUST pass on all secrets, and the index of the one that matched.', async (runner) => {
    const secrets = [OTHER_SECRET, SECRET]
    const endpoint = await runner.mount({ secret: secrets })
    for (const [index, secret] of secrets.entries()) {
      const label = `an order that is signed by secret ${index}`
      await endpoint.expectAnswer(label, await signedOrder({ secret }), 'handled')
      const matched = endpoint.runs.at(-1)?.ctx.secretIndex
      runner.demand(matched === index, `${label}: expected secretIndex ${index}, but it was ${matched}`)
    }
  }),

  test('request-options: MUST pass on all options.', async (runner) => {
    const signature = { algorithm: 'SHA-512', encoding: 'base64', timestampUnit: 'ms' } as const
    const records: unknown[] = []
    const endpoint = await runner.mount({
      signature,
      toleranceSeconds: 10,
      key: () => 'always the same',
      onUnhandled: () => {},
      onDelivery: (record) => records.push(record),
    })
    const order = await signedOrder({ signature })
    const late = await order.signAgain({ now: () => Date.now() - 60_000 })
    await endpoint.expectAnswer('an order of a minute ago', late, 'unauthenticated')
    await endpoint.expectAnswer('an order', order, 'handled')
    await endpoint.expectAnswer('an order with the same key', await signedOrder({ signature }), 'duplicate')
    runner.demand(
      records.length === 3,
      `expected a record of each of 3 deliveries, but there were ${records.length}`,
    )
  }),

  test('encoding-kept: SHOULD leave a compressed body as it is: the signature covers the bytes that were sent.', async (runner) => {
    const bytes = Uint8Array.from(atob(GZIPPED), (character) => character.charCodeAt(0))
    const endpoint = await runner.mount()
    await endpoint.expectAnswer(
      'a body compressed, then signed',
      encoded(await signed(bytes)),
      'unprocessable',
    )
  }),

  test('encoding-told: SHOULD pass on the content-encoding, so that a signature that does not match can be explained.', async (runner) => {
    const reports: string[] = []
    const endpoint = await runner.mount({ onError: (error) => reports.push(String(error)) })
    const forged = encoded(await signedOrder({ secret: OTHER_SECRET }))
    await endpoint.expectAnswer('a body that is not compressed', forged, 'unauthenticated')
    runner.demand(
      reports.some((report) => report.includes('content-encoding: gzip')),
      `expected a report that names content-encoding: gzip, but it was ${JSON.stringify(reports)}`,
    )
  }),
]

function encoded(delivery: AnyDelivery): AnyDelivery {
  return withHeaders(delivery, { 'content-encoding': 'gzip' })
}
