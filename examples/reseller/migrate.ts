// Run when you deploy, before the new version starts.
import { runMigrations } from 'graphile-worker'
import { inbox, pool } from './database.js'

await inbox.migrate()
await runMigrations({ pgPool: pool })
await pool.query(`
  CREATE TABLE IF NOT EXISTS accounts (id text PRIMARY KEY, secret text[] NOT NULL);
  CREATE TABLE IF NOT EXISTS orders (account text, id text, total_cents integer NOT NULL, PRIMARY KEY (account, id));
  CREATE TABLE IF NOT EXISTS tickets (account text, id text, barcode text NOT NULL, PRIMARY KEY (account, id));
  CREATE TABLE IF NOT EXISTS shows (account text, id text, state text NOT NULL, PRIMARY KEY (account, id))`)
await pool.end()
