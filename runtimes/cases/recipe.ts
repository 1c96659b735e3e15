import assert from 'node:assert/strict'
import { signedDelivery } from 'tix-webhooks/testing'
import { SECRET } from '../app/contract.js'
import { assertAnswer, type Client, order } from './client.js'

/** A file of examples/frameworks does as docs/frameworks.md says; its endpoint is the whole path. */
export async function runRecipe(client: Client): Promise<void> {
  const { delivery } = await order()
  assertAnswer(await client.send('', delivery), 200, 'handled')
  assertAnswer(await client.send('', delivery), 200, 'duplicate')
  const unhandled = await signedDelivery('event.published', { secret: SECRET, data: {} })
  assertAnswer(await client.send('', unhandled), 200, 'unhandled')
  const changed = { ...delivery, body: `${delivery.body} ` }
  assertAnswer(await client.send('', changed), 401, 'unauthenticated')
  const large = { ...delivery, body: delivery.body.padEnd(2 * 1024 * 1024) }
  assertAnswer(await client.send('', large), 413, 'too_large')
  const { status } = await client.send('', { method: 'GET', headers: {} })
  assert.ok(status === 404 || status === 405, `GET: ${status}`)
}
