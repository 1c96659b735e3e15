// An adapter of your own, for Koa: it hands plain values to the receiver, which decides, and sends the answer back.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import Koa, { type Context } from 'koa'
import { type Account, answerTo, createReceiver, type SchemaMap, type WebhookOptions } from 'tix-webhooks'
import { removePresetHeaders, streamBody } from 'tix-webhooks/node'
import { type AdapterHarness, adapterCases } from 'tix-webhooks/testing'

export function tixWebhooks<
  Tx = undefined,
  Schemas extends SchemaMap<keyof Schemas> = Record<never, never>,
  Found extends Account | undefined = undefined,
>(options: WebhookOptions<Context, Tx, Schemas, Found>) {
  const { receive, headerName, health, drain, replay } = createReceiver(options)
  return Object.assign(
    async (ctx: Context): Promise<void> => {
      const outcome = await receive({
        header: ctx.headers[headerName],
        body: streamBody(ctx.req),
        request: ctx,
        contentEncoding: ctx.get('content-encoding'),
      })
      const { httpVersionMajor } = ctx.req
      const { status, headers, body } = answerTo(outcome, { httpVersionMajor })
      // A middleware may have set an etag or an encoding.
      removePresetHeaders((name) => ctx.remove(name))
      ctx.status = status
      ctx.set({ ...headers })
      ctx.body = body
    },
    { health, drain, replay },
  )
}

// Proving it, without a test runner. With one: for (const { name, run } of adapterCases) test(name, () => run(harness))
export const harness: AdapterHarness = {
  async mount(options) {
    const app = new Koa().use(tixWebhooks(options))
    const server = createServer(app.callback())
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    return {
      async send({ toRequest }) {
        const response = await fetch(toRequest(`http://127.0.0.1:${port}/hooks`))
        return { status: response.status, headers: response.headers, text: await response.text() }
      },
      close: () => new Promise((resolve) => server.close(resolve)),
    }
  },
}

export async function prove(): Promise<void> {
  for (const { name, run } of adapterCases) {
    await run(harness)
    console.info(`the adapter ${name}`)
  }
}

if (process.argv[1]?.endsWith('own-adapter.ts')) await prove()
