import type { WebhookOptions } from '../../src/index.js'
import type { TestDelivery } from '../deliveries/test-delivery.js'

/** What came back, as the client at hand gives it: supertest's answer is one. */
export interface AdapterAnswer {
  readonly status: number
  /** A `Headers`, or an object by name. */
  readonly headers: Headers | Readonly<Record<string, unknown>>
  readonly text: string
}

/** An app that has the adapter in it. */
export interface MountedAdapter {
  /** Sends the delivery to the adapter with its method, its headers and its exact body, and gives the whole answer. */
  send(delivery: TestDelivery<string | Uint8Array>): Promise<AdapterAnswer>
  /** Ends the app, and whatever it holds open. */
  close(): Promise<unknown>
}

/**
 * What the conformance cases need of an adapter: an app with it, made anew each time.
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
   * Mounts the adapter with exactly these options in an app of the framework, on a real socket or in the framework's own way of
   * injecting. Several may be mounted at the same time.
   */
  mount(options: WebhookOptions): Promise<MountedAdapter>
  /** How long `send` and `close` may take. Default 4: most runners give a test up after 5, and say less. */
  timeoutSeconds?: number
}
