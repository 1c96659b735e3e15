import { signedDelivery } from 'tix-webhooks/testing'
import { expect, test } from 'vitest'
import { SERVERS } from '../support/adapter-harnesses.js'
import { listen, post } from '../support/http.js'

/** A request of any framework, as far as its headers go. */
interface SomeRequest {
  readonly req?: { header(name: string): string | undefined }
  readonly headers: Headers | Readonly<Record<string, string>>
}

function tenantOf(request: unknown): string {
  const { req, headers } = request as SomeRequest
  if (typeof req?.header === 'function') return req.header('x-tenant') ?? ''
  return (headers instanceof Headers ? headers.get('x-tenant') : headers['x-tenant']) ?? ''
}

test.each(SERVERS)(
  'a secret and a namespace by tenant: each of two tenants has its order handled once, in %s',
  async (_, start) => {
    const runs: string[] = []
    const server = await start({
      secret: (request) => `whsec_${tenantOf(request)}`,
      namespace: tenantOf,
      on: { 'order.created': (_event, { request }) => runs.push(tenantOf(request)) },
    })
    const { port, close } = await listen(server)
    const answers: string[] = []
    for (const tenant of ['a', 'b', 'b', 'a']) {
      const data = { order: { id: 'ord_of_b' } }
      const { headers, body } = await signedDelivery('order.created', { secret: `whsec_${tenant}`, data })
      answers.push((await post(port, { headers: { ...headers, 'x-tenant': tenant }, body })).text)
    }
    await close()
    expect(answers.map((text) => JSON.parse(text).outcome)).toEqual([
      'handled',
      'handled',
      'duplicate',
      'duplicate',
    ])
    expect(runs).toEqual(['a', 'b'])
  },
)
