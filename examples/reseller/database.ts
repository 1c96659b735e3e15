// The pool, the tables, and the inbox.
import { drizzle } from 'drizzle-orm/node-postgres'
import { integer, pgTable, text } from 'drizzle-orm/pg-core'
import { Pool } from 'pg'
import { postgresInbox } from 'tix-webhooks/postgres'

export const pool = new Pool({ connectionString: process.env.DATABASE_URL, connectionTimeoutMillis: 2_000 })
pool.on('error', (error) => console.error(`an idle connection broke: ${error.message}`))

export const db = drizzle(pool)
export const inbox = postgresInbox(pool, { as: (client) => drizzle(client) })

// A row is an account as the receiver wants it: { id, secret }. During a rotation it has two secrets.
export const accounts = pgTable('accounts', { id: text().primaryKey(), secret: text().array().notNull() })

// The primary key of the others is (account, id): see migrate.ts.
const id = () => ({ account: text().notNull(), id: text().notNull() })
export const orders = pgTable('orders', { ...id(), totalCents: integer('total_cents').notNull() })
export const tickets = pgTable('tickets', { ...id(), barcode: text().notNull() })
export const shows = pgTable('shows', { ...id(), state: text().notNull() })
