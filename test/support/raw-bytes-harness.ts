import assert from 'node:assert/strict'
import type { OutcomeName, WebhookOptions } from 'tix-webhooks'
import { orderCreated, SECRET, type SignedDelivery } from './deliveries.js'
import { type HttpAnswer, type PostOptions, post } from './http.js'
import { type Watched, watched } from './watched.js'

/** A listening app with the receiver at `POST /hooks`. */
export interface MountedApp extends Watched {
  readonly port: number
  close(): Promise<void>
}

/** A framework's part in the cases. */
export interface RawBytesHarness {
  /** Mounts `tixWebhooks(watched(overrides).options)` at `/hooks`, with nothing else in the app. */
  mount(overrides?: Partial<WebhookOptions>): Promise<MountedApp>
}

/** A rule for an adapter. `run` rejects if it is broken. */
export interface RawBytesCase {
  readonly name: string
  run(harness: RawBytesHarness): Promise<void>
}

/** Makes a harness from a function that starts an app with these options. */
export function harnessOf(
  start: (options: WebhookOptions) => Promise<Pick<MountedApp, 'port' | 'close'>>,
): RawBytesHarness {
  return {
    async mount(overrides) {
      const seen = watched(overrides)
      const { port, close } = await start(seen.options)
      return { ...seen, port, close }
    },
  }
}

/** A case that runs on its own app. */
export function onApp(
  name: string,
  overrides: Partial<WebhookOptions>,
  play: (app: MountedApp) => Promise<void>,
): RawBytesCase {
  return {
    name,
    async run(harness) {
      const app = await harness.mount(overrides)
      try {
        await play(app)
      } finally {
        await app.close()
      }
    },
  }
}

/** Sends a delivery as the service does. */
export function deliver(
  port: number,
  { header, body }: SignedDelivery,
  options: PostOptions = {},
): Promise<HttpAnswer> {
  return post(port, { body, ...options, headers: { ...jsonHeaders(header), ...options.headers } })
}

/** The headers that the service sends. */
export function jsonHeaders(header: string): { 'content-type': string; 'x-service-signature': string } {
  return { 'content-type': 'application/json', 'x-service-signature': header }
}

/** Asserts the status and the outcome, and nothing besides the outcome: no secret, no message, no stack. */
export function assertAnswer(answer: HttpAnswer, status: number, outcome: OutcomeName): void {
  assert.deepEqual([answer.status, answer.text], [status, JSON.stringify({ outcome })])
  assert.match(answer.headers['content-type'] ?? '', /^application\/json\b/)
  assert.ok(!JSON.stringify(answer.headers).includes(SECRET), 'a header of the answer holds the secret')
}

/** Asserts one record with this outcome; and one run of a handler if it was handled, else none. */
export function assertEnd({ records, runs }: MountedApp, outcome: OutcomeName, code?: string): void {
  assert.deepEqual(
    records.map((record) => [record.outcome, record.code]),
    [[outcome, code]],
  )
  assert.equal(runs.length, outcome === 'handled' ? 1 : 0)
}

/** Asserts that the server still works. */
export async function assertServes({ port, runs }: MountedApp, delivery: SignedDelivery): Promise<void> {
  const before = runs.length
  let answer: HttpAnswer
  // An app with a short deadline may be late on a busy machine, and the sender retries.
  do answer = await deliver(port, delivery)
  while (/incomplete|timed_out/.test(answer.text))
  assertAnswer(answer, 200, 'handled')
  assert.equal(runs.length, before + 1)
}

/** An order whose JSON has exactly this many bytes. */
export function orderOf(bytes: number): object {
  const order = { ...orderCreated(), padding: '' }
  return { ...order, padding: 'x'.repeat(bytes - JSON.stringify(order).length) }
}
