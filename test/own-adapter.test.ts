import { createServer } from 'node:http'
import Koa, { type Context } from 'koa'
import type { WebhookOptions } from 'tix-webhooks'
import { afterAll, describe, test } from 'vitest'
import { snippetsFolder, snippetsOf } from './support/compile.js'
import { listen } from './support/http.js'
import { harnessOf, rawBytesCases } from './support/raw-bytes-cases.js'

const { write, remove } = snippetsFolder()
afterAll(remove)

interface OwnAdapter {
  tixWebhooks(options: WebhookOptions<Context>): (ctx: Context) => Promise<void>
}

/** The adapter as CONTRIBUTING.md has it, and nothing else. */
async function adapterOfTheGuide(): Promise<OwnAdapter> {
  const file = write('koa', snippetsOf('CONTRIBUTING.md', 'ts')[0] ?? '')
  return import(/* @vite-ignore */ file)
}

describe('the adapter for Koa that CONTRIBUTING.md writes from the public parts', () => {
  const harness = harnessOf(async (options) => {
    const { tixWebhooks } = await adapterOfTheGuide()
    const app = new Koa().use(tixWebhooks(options))
    // Koa would print each client that goes away.
    app.silent = true
    return listen(createServer(app.callback()))
  })
  for (const { name, run } of rawBytesCases) test(name, () => run(harness))
})
