import { createHmac, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage, RequestListener } from 'node:http'

/*
 * A receiver as teams write one by hand, after the example of a payment service. Its faults are those that are common: it marks an
 * event before it handles it, reads one v1, parses t leniently, and has its own statuses.
 */

const TOLERANCE_SECONDS = 300
const MAX_BYTES = 512_000

interface LegacyEvent {
  readonly type: string
  readonly data: { readonly order?: { readonly id: string }; readonly tickets: readonly { id: string }[] }
}

export interface LegacyParts {
  readonly secret: string
  /** Inserts a row of the table of processed events; false if there is one. */
  mark(id: string): Promise<boolean>
  /** The work for an order. */
  issueTickets(orderId: string, ticketIds: readonly string[]): Promise<void>
}

function verified(body: string, header: string | undefined, secret: string): boolean {
  const parts = new Map(header?.split(',').map((part) => part.split('=', 2) as [string, string]))
  const [t, v1] = [Number.parseInt(parts.get('t') ?? '', 10), Buffer.from(parts.get('v1') ?? '')]
  const expected = Buffer.from(createHmac('sha256', secret).update(`${t}.${body}`).digest('hex'))
  const isRecent = Math.abs(Date.now() / 1000 - t) <= TOLERANCE_SECONDS
  return isRecent && v1.length === expected.length && timingSafeEqual(v1, expected)
}

async function handle(event: LegacyEvent, { mark, issueTickets }: LegacyParts): Promise<void> {
  if (!event?.type || !event.data) return
  const { order, tickets } = event.data
  if (order !== undefined && !(await mark(order.id))) return
  switch (event.type) {
    case 'order.created':
      return issueTickets(
        String(order?.id),
        tickets.map(({ id }) => id),
      )
    case 'event.published':
    case 'event.cancelled':
    case 'event.rescheduled':
      return
    default:
      throw new Error(`unexpected event ${event.type}`)
  }
}

async function receive(request: IncomingMessage, parts: LegacyParts): Promise<number> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  const body = Buffer.concat(chunks)
  if (body.length > MAX_BYTES) return 413
  if (!verified(body.toString(), request.headers['x-service-signature'] as string, parts.secret)) return 400
  await handle(JSON.parse(body.toString()), parts)
  return 200
}

export function legacyReceiver(parts: LegacyParts): RequestListener {
  return (request, response) => {
    receive(request, parts)
      .catch(() => 500)
      .then((status) => response.writeHead(status).end())
  }
}

/** A table of processed events in memory, and a handler that reads the tickets. */
export function inMemory(): Omit<LegacyParts, 'secret'> {
  const processed = new Set<string>()
  return {
    async mark(id) {
      const isNew = !processed.has(id)
      processed.add(id)
      return isNew
    },
    issueTickets: async () => {},
  }
}
