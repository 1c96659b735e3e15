import { createReceiver, type WebhookOptions } from 'tix-webhooks'
import { SECRET } from './deliveries.js'

export const handler = async (): Promise<void> => {}

/** Makes a receiver with options that the types would refuse, as plain JavaScript can. */
export function make(options: Record<string, unknown> = {}) {
  return createReceiver({
    secret: SECRET,
    on: { 'order.created': handler },
    ...options,
  } as unknown as WebhookOptions)
}
