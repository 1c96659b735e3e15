// After an outage longer than 72 hours, with SQLite: the API is asked what was missed, and each finding is given to the same handlers, through
// the same inbox, as a delivery that this app signs itself. Start it with the endpoint's secret and an API key, and call `reconcile` by hand
// or once a day:
//   TIX_SIGNING_SECRET=whsec_… TIX_API=https://… TIX_API_KEY=sk_live_… npx tsx examples/reconcile.ts
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import Database from 'libsql'
import { type JsonObject, signPayload, unchecked } from 'tix-webhooks'
import { tixWebhooks } from 'tix-webhooks/node'
import { sqliteInbox } from 'tix-webhooks/sqlite'

export const db = new Database(process.env.DATABASE_FILE ?? 'app.db')
db.exec(
  'CREATE TABLE IF NOT EXISTS listing (event_id TEXT PRIMARY KEY, state TEXT NOT NULL, doors_at TEXT NOT NULL)',
)
db.exec(
  'CREATE TABLE IF NOT EXISTS outbox (id INTEGER PRIMARY KEY, event_id TEXT NOT NULL, mail TEXT NOT NULL)',
)
db.exec('CREATE TABLE IF NOT EXISTS tickets (id TEXT PRIMARY KEY, order_id TEXT NOT NULL)')

const inbox = sqliteInbox(db)
await inbox.migrate()

const secret = process.env.TIX_SIGNING_SECRET ?? ''
const RANK = { 'event.published': 0, 'event.rescheduled': 1, 'event.cancelled': 2 }

/** The fields of a listed event that are used here. */
interface ListedEvent {
  id: string
  status: 'draft' | 'on_sale' | 'sold_out' | 'past' | 'cancelled'
  doors_at: string
  updated_at: string
  sold: number
}

// Not documented, so look at what you get.
type Data = JsonObject & { event: Pick<ListedEvent, 'id' | 'doors_at'> }
const schemas = {
  'event.published': unchecked<Data>(),
  'event.rescheduled': unchecked<Data>(),
  'event.cancelled': unchecked<Data>(),
}

const hooks = tixWebhooks({
  secret,
  inbox,
  namespace: 'listing',
  // The API lists an event for years. Once its record is gone, its cancellation would be new again.
  retentionSeconds: 10 * 365 * 86_400,
  schemas,
  // The default key is a digest with the webhook's created_at, which no list has. What happens to an event once is identified by the event
  // alone, so that a webhook and what the list says of it are one. It can be rescheduled from A to B to A to B, which are four.
  key: ({ type, created_at, data }) => {
    if (type === 'order.created') return (data.order as { id: string }).id
    const { id } = (data as Data).event
    return type === 'event.rescheduled' ? `${id} ${created_at}` : id
  },
  on: {
    'order.created': (event, ctx) => {
      const { order, tickets } = event.data
      ctx.tx.commit((db) => {
        const issue = db.prepare('INSERT INTO tickets (id, order_id) VALUES (?, ?)')
        for (const { id } of tickets) issue.run(id, order.id)
      })
    },
    'event.*': (event, ctx) => {
      const { id, doors_at } = event.data.event
      ctx.tx.commit((db) => {
        // Once for each key, in whatever order the events come.
        if (event.type === 'event.cancelled') {
          db.prepare("INSERT INTO outbox (event_id, mail) VALUES (?, 'It is cancelled.')").run(id)
        }
        if (!inbox.recordIfNewest(db, { subject: id, at: event.created_at, rank: RANK[event.type] })) return
        const state = event.type === 'event.cancelled' ? 'cancelled' : 'on sale'
        db.prepare('INSERT OR REPLACE INTO listing VALUES (?, ?, ?)').run(id, state, doors_at)
      })
    },
  },
})

export const server = createServer(hooks).listen(Number(process.env.PORT ?? 3000))
if (!server.listening) await once(server, 'listening')

/** All events of the account: the API cannot be asked for those that changed. The form of its list is not documented either. */
async function* listEvents(): AsyncGenerator<ListedEvent> {
  let after = ''
  for (;;) {
    const response = await fetch(`${process.env.TIX_API}/v2/events?limit=100${after}`, {
      headers: { authorization: `bearer ${process.env.TIX_API_KEY}` },
    })
    if (!response.ok) throw new Error(`The API answered ${response.status}.`)
    const page = (await response.json()) as { data: ListedEvent[]; has_more: boolean }
    yield* page.data
    const last = page.data.at(-1)
    if (!page.has_more || last === undefined) return
    after = `&starting_after=${last.id}`
  }
}

/** The kinds that must have been delivered for an event by now, judged by its state. */
function owedFor({ id, status, doors_at }: ListedEvent): (keyof typeof RANK)[] {
  if (status === 'draft') return []
  // Whether it was ever on sale, the list does not say.
  if (status === 'cancelled') return ['event.cancelled']
  const ours = db.prepare('SELECT doors_at FROM listing WHERE event_id = ?').get(id) as
    | { doors_at: string }
    | undefined
  const isMoved = ours !== undefined && Date.parse(ours.doors_at) !== Date.parse(doors_at)
  return isMoved ? ['event.published', 'event.rescheduled'] : ['event.published']
}

/**
 * Gives what is owed to the handlers, dated `updated_at`: what was handled is a duplicate.
 *
 * @returns how many were new; and how many tickets of orders are missing, which the API counts but does not list
 */
export async function reconcile(): Promise<{ caughtUp: number; ticketsMissing: number }> {
  const own = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hooks`
  let caughtUp = 0
  let sold = 0
  for await (const event of listEvents()) {
    const { id, doors_at, updated_at } = event
    for (const type of owedFor(event)) {
      const body = JSON.stringify({ type, created_at: updated_at, data: { event: { id, doors_at } } })
      const headers = { 'x-service-signature': await signPayload(body, { secret }) }
      const response = await fetch(own, { method: 'POST', headers, body })
      if (!response.ok)
        throw new Error(`${type} of ${id} was answered ${response.status}: call reconcile again.`)
      const { outcome } = (await response.json()) as { outcome: string }
      if (outcome === 'handled') caughtUp++
    }
    sold += event.sold
  }
  const { known } = db.prepare('SELECT count(*) AS known FROM tickets').get() as { known: number }
  return { caughtUp, ticketsMissing: sold - known }
}

process.once('SIGTERM', async () => {
  await hooks.drain()
  server.close(() => db.close())
  // The connections that clients keep open.
  setTimeout(() => server.closeAllConnections(), 3_000).unref()
})
