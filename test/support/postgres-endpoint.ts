import type { IncomingMessage } from 'node:http'
import type { DeliveryRecord, WebhookOptions } from 'tix-webhooks'
import { type NodeWebhooks, tixWebhooks } from 'tix-webhooks/node'
import { onTestFinished } from 'vitest'
import { SECRET, sign } from './deliveries.js'
import { listen, post } from './http.js'

interface Answered {
  readonly status: number
  readonly outcome: unknown
  readonly retryAfter?: string
}

/** An endpoint on a real socket, and everything it reports. */
export interface Endpoint {
  readonly hooks: NodeWebhooks
  readonly records: readonly DeliveryRecord[]
  readonly reports: readonly (Error & { code?: string })[]
  send(payload: object): Promise<Answered>
}

/** Listens until the test ends. */
export async function endpoint<Tx>(
  options: Omit<WebhookOptions<IncomingMessage, Tx>, 'secret' | 'onError' | 'onDelivery'>,
): Promise<Endpoint> {
  const records: DeliveryRecord[] = []
  const reports: Error[] = []
  const hooks = tixWebhooks<Tx>({
    namespace: 'test',
    ...options,
    secret: SECRET,
    onDelivery: (record) => records.push(record),
    onError: (error) => reports.push(error as Error),
  })
  const { port, close } = await listen(hooks)
  onTestFinished(close)
  return {
    hooks,
    records,
    reports,
    async send(payload) {
      const { header, body } = await sign(payload)
      const { status, text, headers } = await post(port, {
        headers: { 'x-service-signature': header },
        body,
      })
      const retryAfter = headers['retry-after']
      const { outcome } = JSON.parse(text) as { outcome: unknown }
      return { status, outcome, ...(retryAfter === undefined ? {} : { retryAfter }) }
    },
  }
}
