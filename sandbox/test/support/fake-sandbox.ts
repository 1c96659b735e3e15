import type { RequestListener } from 'node:http'

/** The status by which a sandbox identifies itself. */
export const STATUS = {
  name: 'tix-webhooks sandbox',
  version: '0.1.0',
  url: 'http://sandbox',
  folder: '/nowhere',
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

/** Answers every request like this. */
export const answering =
  (body: object | string, status = 200): RequestListener =>
  (_request, response) =>
    void response.writeHead(status).end(typeof body === 'string' ? body : JSON.stringify(body))

/** A sandbox that answers its status, and fails every other request. */
export const failing =
  (handle: RequestListener): RequestListener =>
  (request, response) =>
    request.url === '/_sandbox' ? answering(STATUS)(request, response) : handle(request, response)
