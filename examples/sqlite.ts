// Effects exactly once, in one file: the rows of the handler and the record of the event are committed together. Start it with
//   TIX_SIGNING_SECRET=whsec_… npx tsx examples/sqlite.ts
// better-sqlite3 and node:sqlite are used in the same way.
import { createServer } from 'node:http'
import Database from 'libsql'
import { tixWebhooks } from 'tix-webhooks/node'
import { sqliteInbox } from 'tix-webhooks/sqlite'

export const db = new Database(process.env.DATABASE_FILE ?? 'app.db')
db.exec('CREATE TABLE IF NOT EXISTS tickets (id TEXT PRIMARY KEY, order_id TEXT NOT NULL, tier TEXT)')
db.exec(
  'CREATE TABLE IF NOT EXISTS outbox (id INTEGER PRIMARY KEY, mail_to TEXT NOT NULL, order_id TEXT NOT NULL)',
)

const inbox = sqliteInbox(db)
await inbox.migrate()

const hooks = tixWebhooks({
  secret: process.env.TIX_SIGNING_SECRET,
  inbox,
  namespace: 'orders',
  on: {
    'order.created': async (event, ctx) => {
      const { order, tickets } = event.data
      // Await first: the callback of commit is synchronous.
      ctx.tx.commit((db) => {
        const issue = db.prepare('INSERT INTO tickets (id, order_id, tier) VALUES (?, ?, ?)')
        for (const { id, tier } of tickets) issue.run(id, order.id, tier)
        // No mail is sent in a transaction: the process that sends the outbox deletes its rows.
        db.prepare('INSERT INTO outbox (mail_to, order_id) VALUES (?, ?)').run(order.buyer_email, order.id)
      })
      console.info(`order ${order.id}: ${tickets.length} tickets`)
    },
  },
})

export const server = createServer(hooks).listen(Number(process.env.PORT ?? 3000))

process.once('SIGTERM', async () => {
  await hooks.drain()
  server.close(() => db.close())
  // The connections that clients keep open.
  setTimeout(() => server.closeAllConnections(), 3_000).unref()
})
