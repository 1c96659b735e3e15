import { createServer } from 'node:http'
import type { Outcome } from 'tix-webhooks'
import { sendAnswer, tixWebhooks } from 'tix-webhooks/node'
import { describe, expect, onTestFinished, test } from 'vitest'
import { orderCreated, sign } from '../support/deliveries.js'
import { listen, post } from '../support/http.js'
import { harnessOf, rawBytesCases } from '../support/raw-bytes-cases.js'
import { assertAnswer, deliver } from '../support/raw-bytes-harness.js'
import { watched } from '../support/watched.js'

const harness = harnessOf((options) => listen(createServer(tixWebhooks(options))))

describe('exact bytes over node:http', { tags: ['slow'] }, () => {
  for (const { name, run } of rawBytesCases) test(name, () => run(harness))
})

test("in Next's pages router, a body that was parsed says what the file needs: it cannot be mounted earlier", async () => {
  const { options, reports } = watched({})
  const hooks = tixWebhooks(options)
  const { port, close } = await listen((request, response) => {
    // As Next 16 marks its requests.
    Object.assign(request, { [Symbol.for('NextInternalRequestMeta')]: {} })
    request.resume().on('end', () => void hooks(request, response))
  })
  onTestFinished(close)
  assertAnswer(await deliver(port, await sign(orderCreated())), 500, 'misconfigured')
  expect(String(reports[0])).toMatch(/already read.*export const config = \{ api: \{ bodyParser: false \} \}/)
})

describe('sendAnswer', () => {
  const failed: Outcome = { outcome: 'failed', code: 'handler_failed' }

  test('does nothing if other code has begun to answer', async () => {
    const { port, close } = await listen((_request, response) => {
      response.writeHead(202).write('begun, ')
      sendAnswer(response, failed)
      response.end('ended')
    })
    onTestFinished(close)
    expect(await post(port)).toMatchObject({ status: 202, text: 'begun, ended' })
  })
})
