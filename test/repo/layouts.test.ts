import { durableObjectStore } from 'tix-webhooks/durable-object'
import { ddl } from 'tix-webhooks/postgres'
import { sqliteFailures, sqliteInbox, sqliteStore } from 'tix-webhooks/sqlite'
import { expect, test } from 'vitest'
import { eventKey } from '../../src/event/key.js'
import { hostedTable } from '../../stores/sql/sqlite-dialect/hosted-table.js'

/*
 * The stored layouts, as docs/stability.md promises them: the versions of one major version run side by side on one store. A snapshot here
 * changes only in a major version, but for a table of a new feature. The strings in Redis are in
 * test/stores/redis/store.test.ts, the default keys in test/src/event/key.test.ts.
 */

test('the key of a record', async () => {
  const plain = await eventKey('order.created', 'ord_7')
  expect(plain('orders', null)).toBe('orders/order.created/ord_7')
  expect(plain('orders', 'acme')).toBe('orders/acme/order.created/ord_7')
  const hashed = await eventKey('order.created', 'ü')
  const digest = '97d3c8ea3172eafe55d5a94bf0c4cbbad980abe81d8e2aab7707c8aca57eb30c'
  expect(hashed('orders', null)).toBe(`orders/${digest}`)
  expect(hashed('orders', 'acme')).toBe(`orders/acme/${digest}`)
})

test('the tables of Postgres', () => {
  expect(ddl).toMatchInlineSnapshot(`
    "CREATE TABLE IF NOT EXISTS "tix_webhooks" (
      key text COLLATE "C" PRIMARY KEY,
      state text NOT NULL,
      attempt integer NOT NULL,
      token text NOT NULL,
      lease_until timestamptz NOT NULL,
      expires_at timestamptz NOT NULL,
      purge_after timestamptz NOT NULL
    ) WITH (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.02);

    CREATE INDEX IF NOT EXISTS "tix_webhooks_purge_after" ON "tix_webhooks" (purge_after);

    CREATE TABLE IF NOT EXISTS "tix_webhooks_inbox" (
      key text COLLATE "C" PRIMARY KEY,
      handled_at timestamptz NOT NULL DEFAULT now(),
      expires_at timestamptz NOT NULL
    ) WITH (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.02);

    CREATE INDEX IF NOT EXISTS "tix_webhooks_inbox_expires_at" ON "tix_webhooks_inbox" (expires_at);

    CREATE TABLE IF NOT EXISTS "tix_webhooks_inbox_newest" (
      subject text COLLATE "C" PRIMARY KEY,
      changed_at text COLLATE "C" NOT NULL,
      rank bigint NOT NULL,
      expires_at timestamptz NOT NULL
    ) WITH (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.02);

    CREATE INDEX IF NOT EXISTS "tix_webhooks_inbox_newest_expires" ON "tix_webhooks_inbox_newest" (expires_at);

    CREATE TABLE IF NOT EXISTS "tix_webhooks_failures" (
      key text COLLATE "C" PRIMARY KEY,
      namespace text NOT NULL,
      account text,
      kind text NOT NULL,
      event_id text COLLATE "C",
      order_id text COLLATE "C",
      signed_at timestamptz NOT NULL,
      secret_index integer NOT NULL,
      cause text NOT NULL,
      code text NOT NULL,
      message text NOT NULL,
      state text NOT NULL,
      first_at timestamptz NOT NULL,
      last_at timestamptz NOT NULL,
      attempts integer NOT NULL,
      replays integer NOT NULL,
      last_replayed_at timestamptz,
      raw_body bytea NOT NULL
    ) WITH (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.02);

    CREATE INDEX IF NOT EXISTS "tix_webhooks_failures_last_at" ON "tix_webhooks_failures" (last_at, key) INCLUDE (first_at, state, kind, account, namespace, cause);

    CREATE INDEX IF NOT EXISTS "tix_webhooks_failures_event_id" ON "tix_webhooks_failures" (event_id) WHERE event_id IS NOT NULL;

    CREATE INDEX IF NOT EXISTS "tix_webhooks_failures_order_id" ON "tix_webhooks_failures" (order_id) WHERE order_id IS NOT NULL;
    "
  `)
})

const db = { prepare: () => {}, exec: () => {} } as never

test('the tables of SQLite', () => {
  expect(sqliteStore(db).ddl + sqliteInbox(db).ddl).toMatchInlineSnapshot(`
    "CREATE TABLE IF NOT EXISTS "tix_webhooks" (
      key TEXT NOT NULL PRIMARY KEY,
      state TEXT NOT NULL CHECK (state IN ('running', 'completed', 'released')),
      attempt INTEGER NOT NULL,
      token TEXT NOT NULL,
      lease_until INTEGER NOT NULL,
      expires_at INTEGER NOT NULL
    ) WITHOUT ROWID;

    CREATE INDEX IF NOT EXISTS "tix_webhooks_expires_at" ON "tix_webhooks" (expires_at);
    CREATE TABLE IF NOT EXISTS "tix_webhooks_inbox" (
      key TEXT NOT NULL PRIMARY KEY,
      handled_at INTEGER NOT NULL,
      expires_at INTEGER NOT NULL
    ) WITHOUT ROWID;

    CREATE INDEX IF NOT EXISTS "tix_webhooks_inbox_expires_at" ON "tix_webhooks_inbox" (expires_at);

    CREATE TABLE IF NOT EXISTS "tix_webhooks_inbox_newest" (
      subject TEXT NOT NULL PRIMARY KEY,
      changed_at TEXT NOT NULL,
      rank INTEGER NOT NULL,
      expires_at INTEGER NOT NULL
    ) WITHOUT ROWID;

    CREATE INDEX IF NOT EXISTS "tix_webhooks_inbox_newest_expires_at" ON "tix_webhooks_inbox_newest" (expires_at);
    "
  `)
})

test('the table of failures of SQLite', () => {
  expect(sqliteFailures(db).ddl).toMatchInlineSnapshot(`
    "CREATE TABLE IF NOT EXISTS "tix_webhooks_failures" (
      key TEXT NOT NULL PRIMARY KEY,
      namespace TEXT NOT NULL,
      account TEXT,
      kind TEXT NOT NULL,
      event_id TEXT,
      order_id TEXT,
      state TEXT NOT NULL CHECK (state IN ('failing', 'parked')),
      cause TEXT NOT NULL,
      code TEXT NOT NULL,
      message TEXT NOT NULL,
      secret_index INTEGER NOT NULL,
      signed_at INTEGER NOT NULL,
      first_at INTEGER NOT NULL,
      last_at INTEGER NOT NULL,
      last_replayed_at INTEGER,
      attempts INTEGER NOT NULL,
      replays INTEGER NOT NULL,
      raw_body BLOB NOT NULL
    );

    CREATE INDEX IF NOT EXISTS "tix_webhooks_failures_last_at" ON "tix_webhooks_failures" (last_at);
    CREATE INDEX IF NOT EXISTS "tix_webhooks_failures_state" ON "tix_webhooks_failures" (state, last_at);
    CREATE INDEX IF NOT EXISTS "tix_webhooks_failures_cause" ON "tix_webhooks_failures" (cause, last_at, first_at, state, kind, namespace, account);
    CREATE INDEX IF NOT EXISTS "tix_webhooks_failures_event_id" ON "tix_webhooks_failures" (event_id) WHERE event_id IS NOT NULL;
    CREATE INDEX IF NOT EXISTS "tix_webhooks_failures_order_id" ON "tix_webhooks_failures" (order_id) WHERE order_id IS NOT NULL;
    "
  `)
})

test('the table of D1 and Durable Objects is that of SQLite', () => {
  const { createTable, createIndex } = hostedTable('tix_webhooks')
  expect(`${createTable}\n${createIndex}`).toBe(sqliteStore(db).ddl)
})

test('the call of a Durable Object, and the object of a key', async () => {
  const calls: unknown[] = []
  const namespace = {
    idFromName: (name: string) => name,
    get: (id: string) => ({
      async fetch(_url: string, { body }: { body: string }) {
        calls.push(id, JSON.parse(body))
        return Response.json({ result: { status: 'claimed', attempt: 1 } })
      },
    }),
  }
  const request = { key: 'orders/order.created/ord_7', token: 't', leaseMs: 60_000, retainMs: 262_800_000 }
  await durableObjectStore(namespace as never).claim(request)
  expect(calls).toEqual(['shard-2', { method: 'claim', ...request }])
})
