import { memoryStore, type WebhookOptions } from 'tix-webhooks'
import { SECRET } from '../contestants.js'

/** Everything on: signature, timestamp, check of the data, deduplication. The store has room for all keys of a run. */
export function optionsWith<Request>(handler: () => void): WebhookOptions<Request> {
  return {
    secret: SECRET,
    store: memoryStore({ maxKeys: 5_000_000 }),
    namespace: 'bench',
    on: { 'order.created': handler },
  }
}
