import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { ownReceiver, type Steps } from '../../../test/support/own-receiver.js'

/** A way to read a request; undefined: it is answered already. */
export type Reading = (request: IncomingMessage, response: ServerResponse) => Promise<Buffer | undefined>

/** The hand-written receiver, over HTTP. */
export function byHand(steps: Partial<Steps> = {}, reading: Reading = readWhole): RequestListener {
  const receiver = ownReceiver(steps)
  return async (request, response) => {
    const body = await reading(request, response)
    if (body === undefined) return
    const toRequest = () =>
      new Request('http://localhost/hooks', { method: 'POST', body: new Uint8Array(body) })
    const headers = request.headers as Record<string, string>
    const { status } = await receiver.send({ headers, toRequest }).catch(() => ({ status: 500 }))
    response.writeHead(status).end()
  }
}

export async function readWhole(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  return Buffer.concat(chunks)
}
