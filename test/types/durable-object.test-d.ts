import {
  type DurableObjectNamespace,
  durableObjectStore,
  TixWebhooksObject,
} from 'tix-webhooks/durable-object'
import { describe, expectTypeOf, test } from 'vitest'

// As @cloudflare/workers-types declares them.
declare const __DURABLE_OBJECT_BRAND: '__DURABLE_OBJECT_BRAND'

interface DurableObjectBranded {
  [__DURABLE_OBJECT_BRAND]: never
}

interface PlatformNamespace<_T extends DurableObjectBranded | undefined = undefined> {
  idFromName(name: string): { readonly name?: string }
  get(id: { readonly name?: string }): {
    fetch(input: string | URL, init?: { method?: string; body?: string }): Promise<Response>
  }
}

describe('the class of the Durable Objects', () => {
  test('types a binding, as `wrangler types` writes it', () => {
    const binding = {} as PlatformNamespace<TixWebhooksObject>
    expectTypeOf(binding).toExtend<DurableObjectNamespace>()
    expectTypeOf(durableObjectStore).toBeCallableWith(binding)
  })

  test('can be extended', () => {
    class Own extends TixWebhooksObject {}
    expectTypeOf<PlatformNamespace<Own>>().toExtend<DurableObjectNamespace>()
  })
})
