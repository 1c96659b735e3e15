import { createServer } from 'node:http'
import { answerTo, type Outcome } from 'tix-webhooks'
import { sendAnswer, tixWebhooks } from 'tix-webhooks/node'
import { describe, expect, onTestFinished, test } from 'vitest'
import { orderCreated, sign } from '../support/deliveries.js'
import { listen, post } from '../support/http.js'
import { harnessOf, type MountedApp, rawBytesCases } from '../support/raw-bytes-cases.js'
import { assertAnswer, deliver } from '../support/raw-bytes-harness.js'
import { watched } from '../support/watched.js'

const harness = harnessOf((options) => listen(createServer(tixWebhooks(options))))

async function mounted(): Promise<MountedApp> {
  const app = await harness.mount()
  onTestFinished(app.close)
  return app
}

describe('exact bytes over node:http', { tags: ['slow'] }, () => {
  for (const { name, run } of rawBytesCases) test(name, () => run(harness))
})

describe('the method', () => {
  test.each(['GET', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'QUERY'])(
    '%s is answered 405 with Allow, though it is signed',
    async (method) => {
      const app = await mounted()
      const answer = await deliver(app.port, await sign(orderCreated()), { method })
      assertAnswer(answer, 405, 'method_not_allowed')
      expect(answer.headers.allow).toBe('POST')
      expect(app.records).toMatchObject([{ outcome: 'method_not_allowed', code: 'method_not_allowed' }])
      expect([app.runs, app.reports]).toEqual([[], []])
    },
  )
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

  test('sends status, headers, length and body', async () => {
    const { port, close } = await listen((_request, response) => sendAnswer(response, failed))
    onTestFinished(close)
    const received = await post(port)
    assertAnswer(received, 500, 'failed')
    expect(received.headers['content-length']).toBe(String(answerTo(failed).body.length))
  })

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
