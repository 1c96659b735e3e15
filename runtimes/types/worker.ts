// A Worker with the types of its platform, and without those of a browser or of Node. Only compiled.
import { type D1Store, d1Store } from 'tix-webhooks/d1'
import { durableObjectStore, TixWebhooksObject } from 'tix-webhooks/durable-object'
import { type FetchWebhooks, tixWebhooks } from 'tix-webhooks/fetch'
import { tixWebhooks as forHono } from 'tix-webhooks/hono'

export { TixWebhooksObject }

/** As a user may extend it. */
export class Renamed extends TixWebhooksObject {}

interface Env {
  TIX_SIGNING_SECRET: string
  DB: D1Database
  WEBHOOKS: DurableObjectNamespace
}

let hooks: FetchWebhooks | undefined

export default {
  async fetch(request, env, ctx) {
    hooks ??= tixWebhooks({
      secret: env.TIX_SIGNING_SECRET,
      store: d1Store(env.DB),
      namespace: 'orders',
      on: { 'order.created': async (event, { request }) => void `${event.data.order.id} ${request.url}` },
    })
    return hooks(request, ctx)
  },
  async scheduled(_event, env) {
    const store: D1Store = d1Store(env.DB)
    await store.purge()
  },
} satisfies ExportedHandler<Env>

declare const env: Env
declare const state: DurableObjectState

d1Store(env.DB.withSession('first-primary'), { table: 'events' })
new TixWebhooksObject(state) satisfies DurableObject
// The class as a binding's, and a generic namespace of any class.
declare const bound: DurableObjectNamespace<undefined>
export const stores = [durableObjectStore(env.WEBHOOKS), durableObjectStore(bound, { shards: 4 })]
export const onHono = forHono({
  secret: 'whsec_worker',
  namespace: 'orders',
  store: (c) => d1Store((c.env as Env).DB),
  on: { 'order.created': () => {} },
})

// @ts-expect-error a bucket is not a database
d1Store({} as R2Bucket)
// @ts-expect-error a database is not a namespace
durableObjectStore(env.DB)
