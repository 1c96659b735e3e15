import * as z from 'zod'
import { NOT_SHOWN, webhookData } from '../../domain/resources.js'
import type { Json, SchemaCollection } from './schema-collection.js'

const EMITTED_BY: Readonly<Record<keyof typeof webhookData, string>> = {
  'order.created': 'A sale, such as a sandbox order',
  'event.published': 'Publishing an event',
  'event.cancelled': 'Cancelling an event',
  'event.rescheduled': 'Rescheduling an event',
}

const SIGNATURE: Json = {
  name: 'x-service-signature',
  in: 'header',
  required: true,
  description: 'Verify it with the secret of the endpoint before you trust the body.',
  schema: {
    type: 'string',
    pattern: '^t=[0-9]+(,v1=[0-9a-f]+)+$',
    description: 'What is signed, and how, is an assumption: see x-assumptions.',
    ...NOT_SHOWN,
  },
}

/** The webhooks of the service. */
export function describeWebhooks(schemas: SchemaCollection): Json {
  const entries = Object.entries(webhookData).map(([kind, data]) => [
    kind,
    {
      post: {
        operationId: kind,
        summary: EMITTED_BY[kind as keyof typeof webhookData],
        // Webhooks have a signature, and no API key.
        security: [],
        parameters: [SIGNATURE],
        requestBody: {
          required: true,
          content: {
            'application/json': {
              schema: schemas.add(
                z.strictObject({ type: z.literal(kind), created_at: z.iso.datetime(), data }),
                'output',
              ),
            },
          },
        },
        responses: {
          '2XX': { description: 'It is delivered.' },
          default: {
            description: 'It is retried with backoff for 72 hours. The schedule is not shown.',
            ...NOT_SHOWN,
          },
        },
      },
    },
  ])
  return Object.fromEntries(entries)
}
