/** @module-tag slow */
import { createServer, type IncomingMessage } from 'node:http'
import { tixWebhooks } from 'tix-webhooks/fetch'
import { describe, test } from 'vitest'
import { listen } from '../support/http.js'
import { harnessOf, rawBytesCases } from '../support/raw-bytes-cases.js'

describe('a web-standard handler on a host that cuts the connection when the body is cancelled', () => {
  const harness = harnessOf((options) => {
    const handle = tixWebhooks(options)
    return listen(
      createServer(async (incoming, outgoing) => {
        const response = await handle(requestOver(incoming))
        const text = await response.text()
        outgoing.writeHead(response.status, {
          ...Object.fromEntries(response.headers),
          'content-length': Buffer.byteLength(text),
        })
        outgoing.end(text)
      }),
    )
  })

  test.each(rawBytesCases)('$name', ({ run }) => run(harness))
})

/** A request like that of SvelteKit's adapter for Node: cancelling the body destroys the request, and so the connection. */
function requestOver(incoming: IncomingMessage): Request {
  const gone = new AbortController()
  incoming.once('close', () => {
    if (!incoming.readableEnded) gone.abort()
  })
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      incoming.on('data', (bytes: Uint8Array) => {
        controller.enqueue(bytes)
        if ((controller.desiredSize ?? 0) <= 0) incoming.pause()
      })
      incoming.on('end', () => controller.close()).on('error', (error) => controller.error(error))
    },
    pull: () => void incoming.resume(),
    cancel: (reason) => void incoming.destroy(reason),
  })
  const { method = 'GET', url } = incoming
  const init: RequestInit & { duplex: 'half' } = {
    method,
    headers: Object.entries(incoming.headers).map(([name, value]) => [name, String(value)]),
    body: method === 'GET' ? null : body,
    signal: gone.signal,
    duplex: 'half',
  }
  return new Request(`http://localhost${url}`, init)
}
