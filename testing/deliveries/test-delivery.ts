import { areMicrotasksFake, bytesOf, inParts, streamedRequest } from './streamed-body.js'

/**
 * A request of the service's, for whatever client you test with. With a string as its body it is a `RequestInit` too:
 * `fetch(url, delivery)` and Hono's `app.request(path, delivery)` send it as it is.
 *
 * @typeParam Body a string, or bytes where no string has them
 */
export interface TestDelivery<Body extends string | Uint8Array = string> {
  readonly method: 'POST'
  /** The body, exactly as it is sent. */
  readonly body: Body
  /** The value of the signature header; undefined where there is none. */
  readonly header: string | undefined
  /** All headers: the content type and the signature. */
  readonly headers: Readonly<Record<string, string>>
  /** As a `Request`, for handlers of the fetch kind. A path alone is one of `http://localhost`. */
  toRequest(url: string | URL): Request
  /** As Fastify's `app.inject` takes it. */
  toInject(url: string): InjectedRequest<Body>
}

/** What Fastify's `app.inject` takes. */
export interface InjectedRequest<Body extends string | Uint8Array = string> {
  method: 'POST'
  url: string
  headers: Record<string, string>
  payload: Body
}

/** A request with this body and these headers. Every delivery of the kit is made here. */
export function testDelivery<Body extends string | Uint8Array>(
  body: Body,
  { header, headerName }: { header: string | undefined; headerName: string },
): TestDelivery<Body> {
  const headers: Record<string, string> = { 'content-type': 'application/json' }
  if (header !== undefined) headers[headerName] = header
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

/** A path that was left out would be the path `/undefined`. */
function checkedUrl<Url extends string | URL>(url: Url, method: string): Url {
  if (url !== undefined) return url
  throw new TypeError(`url is missing: pass the path of your endpoint, such as ${method}('/hooks').`)
}

/** Fastify's `inject` would write other bytes than those of a Buffer as JSON. */
function injectable<Body extends string | Uint8Array>(body: Body): Body {
  const { Buffer } = globalThis as { Buffer?: { from(bytes: Uint8Array): Uint8Array } }
  return typeof body === 'string' || Buffer === undefined ? body : (Buffer.from(body) as Body)
}
