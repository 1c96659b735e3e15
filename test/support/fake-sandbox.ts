import type { RequestListener } from 'node:http'

/** How a sandbox says that it is one. */
export const STATUS = {
  name: 'tix-webhooks sandbox',
  version: '0.1.0',
  url: 'http://sandbox',
  clock: {
    now: '2031-05-01T12:00:00.000Z',
    frozen: true,
    next_at: null,
    real_now: '2031-05-01T12:00:00.000Z',
  },
  counts: { test: {}, live: {} },
  deliveries: {},
  endpoints: 0,
  assumptions: {},
}

/** Answers everything like this. */
export const answering =
  (body: object | string, status = 200): RequestListener =>
  (_request, response) =>
    void response.writeHead(status).end(typeof body === 'string' ? body : JSON.stringify(body))

/** A sandbox that is well, until it is asked for more than how it is. */
export const failing =
  (handle: RequestListener): RequestListener =>
  (request, response) =>
    request.url === '/_sandbox' ? answering(STATUS)(request, response) : handle(request, response)
