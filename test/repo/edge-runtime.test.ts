import { EdgeRuntime, runServer } from 'edge-runtime'
import { expect, test } from 'vitest'
import { orderCreated, SECRET, sign } from '../support/deliveries.js'
import { post } from '../support/http.js'
import { workerBundle } from '../support/worker-bundle.js'

const WORKER = `
  import { tixWebhooks } from './src/fetch.ts'
  const hooks = tixWebhooks({ secret: '${SECRET}', on: { 'order.created': () => {} }, onError: () => {} })
  addEventListener('fetch', (event) => event.respondWith(hooks(event.request, event)))
`

test('edge-runtime, which is what Next runs edge routes in, handles an event once and refuses a forgery', async () => {
  const runtime = new EdgeRuntime({ initialCode: await workerBundle(WORKER) })
  const server = await runServer({ runtime, host: '127.0.0.1', port: 0 })
  try {
    const port = Number(new URL(server.url).port)
    const delivery = await sign(orderCreated())
    const outcomes = []
    for (const body of [delivery.body, delivery.body, delivery.body.slice(0, -1)]) {
      outcomes.push(await post(port, { headers: { 'x-service-signature': delivery.header }, body }))
    }
    expect(outcomes.map(({ status, text }) => [status, text])).toEqual([
      [200, '{"outcome":"handled"}'],
      [200, '{"outcome":"duplicate"}'],
      [401, '{"outcome":"unauthenticated"}'],
    ])
  } finally {
    await server.close()
  }
})
