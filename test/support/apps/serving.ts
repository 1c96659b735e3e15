import { AsyncLocalStorage } from 'node:async_hooks'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type HandlerContext, type IdempotencyStore, isWebhookError, type WebhookOptions } from 'tix-webhooks'
import { tixWebhooks } from 'tix-webhooks/node'
import { SECRET } from '../deliveries.js'
import { type OpenInbox, type OpenStore, SQL_INBOXES, STORES } from '../proof-clients.js'
import {
  type AppMessage,
  type AppSettings,
  DELIVERY_HEADER,
  FAIL_HEADER,
  type Mark,
  NOT_KEPT_HEADER,
  STOP_HEADER,
} from './protocol.js'

/** The settings that the app was started with. */
const settings: AppSettings = JSON.parse(String(process.argv[2]))

const delivery = new AsyncLocalStorage<{
  readonly request: IncomingMessage
  readonly response: ServerResponse
}>()

/** Stops the delivery of this asynchronous context for good, if a header names this point. */
async function pass(mark: Mark): Promise<void> {
  const headers = delivery.getStore()?.request.headers
  if (headers?.[STOP_HEADER] !== mark) return
  send({ stopped: String(headers[DELIVERY_HEADER]) })
  await new Promise(() => {})
}

/** A store whose deliveries can be stopped before and after its calls. */
function stoppable(store: IdempotencyStore): IdempotencyStore {
  return {
    ...store,
    async claim(request) {
      const result = await store.claim(request)
      await pass('after the claim')
      return result
    },
    async complete(...completion) {
      await pass('before completing')
      const recorded = await store.complete(...completion)
      await pass('after completing')
      return recorded
    },
  }
}

type Protection<Tx> = Pick<WebhookOptions<IncomingMessage, Tx>, 'store' | 'inbox'>

/** Serves webhooks whose one handler has one effect for each order. */
function serve<Tx>(
  protection: Protection<Tx>,
  effect: (order: string, ctx: HandlerContext<IncomingMessage, Tx>) => Promise<unknown>,
): void {
  const listener = tixWebhooks<Tx>({
    ...protection,
    secret: SECRET,
    namespace: 'proof',
    // A delivery that was stopped is not to be answered, however slow the machine is.
    timeoutSeconds: 120,
    on: {
      'order.created': async (event, ctx) => {
        await pass('in the handler')
        if (ctx.request.headers[FAIL_HEADER] !== undefined) throw new Error('It was told to fail')
        await effect(event.data.order.id, ctx)
        await pass('after the effect')
      },
    },
    onError(error) {
      const response = delivery.getStore()?.response
      const isNotKept = isWebhookError(error) && error.code === 'not_kept'
      if (isNotKept && response?.headersSent === false) response.setHeader(NOT_KEPT_HEADER, 'yes')
    },
  })
  const server = createServer((request, response) =>
    delivery.run({ request, response }, () => void listener(request, response)),
  )
  server.keepAliveTimeout = 60_000
  server.listen(0, '127.0.0.1', () => send({ port: (server.address() as AddressInfo).port }))
  // The test is gone.
  process.once('disconnect', () => process.exit(1))
}

function send(message: AppMessage): void {
  process.send?.(message)
}

/** The effects of an app with a store are on the same server, but in transactions of their own. */
async function main(): Promise<void> {
  const { program, client } = settings
  if (program === 'store') {
    const { store, effect } = await (STORES[client] as OpenStore)(settings)
    serve({ store: stoppable(store) }, (order, { attempt }) => effect(order, attempt))
    return
  }
  const { inbox, effect } = await (SQL_INBOXES[client] as OpenInbox)(settings, pass)
  serve({ inbox }, (order, { tx }) => effect(order, tx))
}

void main()
