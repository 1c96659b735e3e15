import { areMicrotasksFake, bytesOf, inParts, streamedRequest } from './streamed-body.js'

/**
 * A request of the service, for any client that you test with. With a string as its body it is a `RequestInit` too, for
 * `fetch(url, delivery)` and Hono's `app.request(path, delivery)`.
 *
 * @typeParam Body a string, or bytes that are not text
 */
export interface TestDelivery<Body extends string | Uint8Array = string> {
  readonly method: 'POST'
  /** The body, exactly as it is sent. */
  readonly body: Body
  /** The value of the signature header; undefined if there is none. */
  readonly header: string | undefined
  /** All headers: the content type and the signature. */
  readonly headers: Readonly<Record<string, string>>
  /** A `Request`, for fetch handlers. A path is relative to `http://localhost`. */
  toRequest(url: string | URL): Request
  /** The argument of Fastify's `app.inject`. */
  toInject(url: string): InjectedRequest<Body>
}

/** The argument of Fastify's `app.inject`. */
export interface InjectedRequest<Body extends string | Uint8Array = string> {
  method: 'POST'
  url: string
  headers: Record<string, string>
  payload: Body
}

/**
 * Makes a request. Every delivery of the kit is made here.
 *
 * @param signatureHeaders the headers of the signature
 * @param headerName the one of them that is `header`
 */
export function testDelivery<Body extends string | Uint8Array>(
  body: Body,
  signatureHeaders: Readonly<Record<string, string>>,
  headerName: string,
): TestDelivery<Body> {
  const headers = { 'content-type': 'application/json', ...signatureHeaders }
  const header = signatureHeaders[headerName]
  return {
    method: 'POST',
    body,
    header,
    headers,
    toRequest(url) {
      const target = new URL(checkedUrl(url, 'toRequest'), 'http://localhost')
      const init = { method: 'POST', headers }
      return areMicrotasksFake()
        ? streamedRequest(target, init, inParts(bytesOf(body)))
        : new Request(target, { ...init, body: body as BodyInit })
    },
    toInject: (url) => ({
      method: 'POST',
      url: checkedUrl(url, 'toInject'),
      headers: { ...headers },
      payload: injectable(body),
    }),
  }
}

/** Without this check, a missing URL would become the path `/undefined`. */
function checkedUrl<Url extends string | URL>(url: Url, method: string): Url {
  if (url !== undefined) return url
  throw new TypeError(`url is missing: pass the path of your endpoint, such as ${method}('/hooks').`)
}

/** Fastify's `inject` writes any bytes but a Buffer as JSON. */
function injectable<Body extends string | Uint8Array>(body: Body): Body {
  const { Buffer } = globalThis as { Buffer?: { from(bytes: Uint8Array): Uint8Array } }
  return typeof body === 'string' || Buffer === undefined ? body : (Buffer.from(body) as Body)
}
