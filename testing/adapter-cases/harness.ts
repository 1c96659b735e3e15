import type { WebhookOptions } from '../../src/index.js'
import type { TestDelivery } from '../deliveries/test-delivery.js'

/** An answer as any client gives it, such as supertest's. */
export interface AdapterAnswer {
  readonly status: number
  /** A `Headers`, or an object of values by name. */
  readonly headers: Headers | Readonly<Record<string, unknown>>
  readonly text: string
}

/** An app with the adapter. */
export interface MountedAdapter {
  /** Sends the delivery to the adapter with its method, its headers and its exact body, and returns the whole answer. */
  send(delivery: TestDelivery<string | Uint8Array>): Promise<AdapterAnswer>
  /** Closes the app, and everything that it keeps open. */
  close(): Promise<unknown>
}

/**
 * The adapter under test: how to mount it in a new app.
 *
 * @example
 * ```ts
 * import { tixWebhooks } from 'tix-webhooks/fetch'
 * import type { AdapterHarness } from 'tix-webhooks/testing'
 *
 * export const harness: AdapterHarness = {
 *   async mount(options) {
 *     const handle = tixWebhooks(options)
 *     return {
 *       async send({ toRequest }) {
 *         const response = await handle(toRequest('/hooks'))
 *         return { status: response.status, headers: response.headers, text: await response.text() }
 *       },
 *       close: async () => {},
 *     }
 *   },
 * }
 * ```
 */
export interface AdapterHarness {
  /**
   * Mounts the adapter with exactly these options in an app of the framework, on a real socket or by the framework's own
   * injection. Several apps may be mounted at the same time.
   */
  mount(options: WebhookOptions): Promise<MountedAdapter>
  /** How long `send` and `close` may take, in seconds. Default 4: most runners stop a test after 5, with a shorter message. */
  timeoutSeconds?: number
}
