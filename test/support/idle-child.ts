import { createReceiver, type Delivery, type WebhookOptions } from 'tix-webhooks'
import { orderCreated, SECRET, sign } from './deliveries.js'
import { never } from './promises.js'
import { scriptedInbox } from './scripted-inbox.js'
import { type Script, scriptedStore } from './scripted-store.js'

/*
 * A process with nothing to do but one delivery, which must keep it alive until its sender is answered and no longer. It prints
 * the outcome, and the line after a drain.
 */

const refused = async (): Promise<never> => {
  throw new Error('connect ECONNREFUSED')
}

const on = (handler: () => unknown): Partial<WebhookOptions> => ({ on: { 'order.created': handler } })

const withStore = (script: Script): Partial<WebhookOptions> => ({ store: scriptedStore(script).store })

interface Case {
  readonly options?: Partial<WebhookOptions>
  readonly body?: Delivery['body']
  readonly drains?: boolean
}

const CASES: Record<string, Case> = {
  'a body': { body: () => never() },
  'a secret function': { options: { secret: () => never() } },
  'a claim': { options: withStore({ claim: never }) },
  'a transaction': {
    options: { inbox: scriptedInbox(() => never()).inbox } as unknown as Partial<WebhookOptions>,
  },
  'a handler': { options: on(() => never()) },
  'a handler whose lease is renewed': {
    options: { ...on(() => never()), ...withStore({}), leaseSeconds: 0.1 },
  },
  'a handler whose lease is lost': {
    options: { ...on(() => never()), ...withStore({ renew: refused }), leaseSeconds: 0.1 },
  },
  'a completion that is tried again': { options: { ...withStore({ complete: refused }), timeoutSeconds: 5 } },
  'a drain': { options: { ...on(() => never()), maxRunSeconds: 1 }, drains: true },
}

const { options = {}, body, drains = false } = CASES[process.argv[2] ?? ''] ?? {}
const isGuarded = 'store' in options || 'inbox' in options
const receiver = createReceiver({
  secret: SECRET,
  on: { 'order.created': () => {} },
  timeoutSeconds: 0.3,
  ...(isGuarded ? { namespace: 'test' } : {}),
  onError: () => {},
  ...options,
})
const signed = await sign(orderCreated())
const { outcome } = await receiver.receive({
  ...signed,
  ...(body === undefined ? {} : { body }),
  request: null,
})
console.log(outcome)
if (drains) {
  await receiver.drain()
  console.log('drained')
}
