import { createServer } from 'node:http'
import Koa from 'koa'
import { adapterCases } from 'tix-webhooks/testing'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { tixWebhooks } from '../../examples/own-adapter.js'
import { orderCreated, SECRET, sign } from '../support/deliveries.js'
import { listen } from '../support/http.js'
import { harnessOf, rawBytesCases } from '../support/raw-bytes-cases.js'
import { deliver } from '../support/raw-bytes-harness.js'
import { ROOT } from '../support/root.js'
import { importsOf } from '../support/source.js'

const FILE = 'examples/own-adapter.ts'

describe('the adapter for Koa that examples/own-adapter.ts writes from the public parts', () => {
  const harness = harnessOf(async (options) => {
    const app = new Koa().use(tixWebhooks(options))
    // Koa would print an error for each client that disconnects.
    app.silent = true
    return listen(createServer(app.callback()))
  })
  for (const { name, run } of rawBytesCases) test(name, () => run(harness))

  test('answers without the headers that a middleware has set for another body', async () => {
    const app = new Koa().use((ctx, next) => {
      ctx.set({ etag: '"1"', 'content-encoding': 'br' })
      return next()
    })
    app.use(tixWebhooks({ secret: SECRET, on: { 'order.created': () => {} } }))
    const { port, close } = await listen(createServer(app.callback()))
    onTestFinished(close)
    const { headers } = await deliver(port, await sign(orderCreated()))
    expect([headers.etag, headers['content-encoding']]).toEqual([undefined, undefined])
  })

  test('takes nothing of ours but what users can import', () => {
    const ours = importsOf(FILE).map(({ specifier }) => specifier)
    expect(ours.filter((specifier) => !/^(koa|node:.+|tix-webhooks(\/.+)?)$/.test(specifier))).toEqual([])
  })

  test('proves itself when it is run, without a test runner', async () => {
    const printed: unknown[] = []
    vi.spyOn(console, 'info').mockImplementation((line) => void printed.push(line))
    vi.spyOn(process, 'argv', 'get').mockReturnValue([process.execPath, `${ROOT}${FILE}`])
    onTestFinished(() => void vi.restoreAllMocks())
    vi.resetModules()
    await import('../../examples/own-adapter.js')
    expect(printed).toEqual(adapterCases.map(({ name }) => `the adapter ${name}`))
  })
})
