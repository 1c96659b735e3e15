import { signedDelivery } from 'tix-webhooks/testing'
import { expect, test } from 'vitest'
import { SERVERS } from '../support/adapter-harnesses.js'
import { listen, post } from '../support/http.js'

/** A request of any framework, as far as its headers go. */
interface SomeRequest {
  readonly req?: { header(name: string): string | undefined }
  readonly headers: Headers | Readonly<Record<string, string>>
}

function nameIn(request: unknown): string {
  const { req, headers } = request as SomeRequest
  if (typeof req?.header === 'function') return req.header('x-account') ?? ''
  return (headers instanceof Headers ? headers.get('x-account') : headers['x-account']) ?? ''
}

test.each(SERVERS)(
  'two accounts on a route: each has its order handled once, and a stranger is refused, in %s',
  async (_, start) => {
    const runs: unknown[] = []
    const account = (request: unknown): object | undefined => {
      const id = nameIn(request)
      return id === 'c' ? undefined : { id, secret: `whsec_${id}` }
    }
    const server = await start({
      account: account as never,
      on: { 'order.created': (_event, ctx) => runs.push((ctx.account as never as { id: string }).id) },
    })
    const { port, close } = await listen(server)
    const answers: string[] = []
    for (const name of ['a', 'b', 'b', 'a', 'c']) {
      const data = { order: { id: 'ord_of_b' } }
      const { headers, body } = await signedDelivery('order.created', { secret: `whsec_${name}`, data })
      answers.push((await post(port, { headers: { ...headers, 'x-account': name }, body })).text)
    }
    await close()
    const outcomes = ['handled', 'handled', 'duplicate', 'duplicate', 'unauthenticated']
    expect(answers.map((text) => JSON.parse(text).outcome)).toEqual(outcomes)
    expect(runs).toEqual(['a', 'b'])
  },
)
