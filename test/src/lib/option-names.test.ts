import { memoryStore, parseEvent, signPayload, verifySignature, verifyWebhook } from 'tix-webhooks'
import { expect, test } from 'vitest'
import { orderCreated, SECRET, sign } from '../../support/deliveries.js'

const options = (misspelt: object) => ({ secret: SECRET, ...misspelt })

test.each<[string, (header: string, body: Uint8Array) => unknown]>([
  ['verifySignature', (header, body) => verifySignature(body, header, options({ tolerance: 3 }))],
  ['verifyWebhook', (header, body) => verifyWebhook(body, header, options({ tolerance: 3 }))],
  ['signPayload', (_, body) => signPayload(body, options({ time: 3 }))],
  ['parseEvent', (_, body) => parseEvent(body, { schema: {} } as object)],
  ['memoryStore', () => memoryStore({ max: 3 } as object)],
  ['a signature scheme', (_, body) => signPayload(body, options({ signature: { algoritm: 'SHA-512' } }))],
])('an option that is misspelt is refused, and not its default taken by %s', async (_, call) => {
  const { header, body } = await sign(orderCreated())
  const called = async () => call(header, body)
  await expect(called).rejects.toThrow(TypeError)
  await expect(called).rejects.toThrow(/^There is no option (signature\.)?\w+\. The options are \w+/)
})
