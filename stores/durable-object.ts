export type { DurableObjectNamespace, DurableObjectState } from './durable-object/cloudflare.js'
export { TixWebhooksObject } from './durable-object/object.js'
export {
  type DurableObjectStore,
  type DurableObjectStoreOptions,
  durableObjectStore,
} from './durable-object/store.js'
