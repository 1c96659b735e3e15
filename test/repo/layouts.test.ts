import { d1Store } from 'tix-webhooks/d1'
import { durableObjectStore } from 'tix-webhooks/durable-object'
import { ddl as mysqlDdl } from 'tix-webhooks/mysql'
import { ddl as postgresDdl } from 'tix-webhooks/postgres'
import { sqliteInbox, sqliteStore } from 'tix-webhooks/sqlite'
import { expect, test } from 'vitest'
import { eventKey } from '../../src/event/key.js'

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
  expect(postgresDdl).toMatchInlineSnapshot(`
    "CREATE TABLE IF NOT EXISTS "tix_webhooks_events" (
      event_key text COLLATE "C" PRIMARY KEY,
      state text COLLATE "C" NOT NULL,
      token text COLLATE "C" NOT NULL,
      attempt integer NOT NULL,
      lease_until bigint NOT NULL,
      expires_at bigint NOT NULL,
      received_at bigint NOT NULL,
      namespace text,
      account text,
      kind text,
      handled_at bigint,
      reason text,
      failure text COLLATE "C",
      failed_at bigint,
      first_at bigint,
      delivered_at bigint,
      replayed_at bigint,
      fails integer,
      replays integer,
      cause text COLLATE "C",
      code text,
      message text,
      event_id text,
      order_id text,
      signed_at bigint,
      secret_index integer,
      raw_body bytea
    ) WITH (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.02);

    CREATE INDEX IF NOT EXISTS "tix_webhooks_events_received" ON "tix_webhooks_events" (received_at, event_key);

    CREATE INDEX IF NOT EXISTS "tix_webhooks_events_failures" ON "tix_webhooks_events" (received_at, event_key, failure) WHERE failed_at IS NOT NULL;

    CREATE INDEX IF NOT EXISTS "tix_webhooks_events_causes" ON "tix_webhooks_events" (cause, failed_at, event_key) WHERE failed_at IS NOT NULL;

    CREATE INDEX IF NOT EXISTS "tix_webhooks_events_orders" ON "tix_webhooks_events" (order_id) WHERE failed_at IS NOT NULL;

    CREATE TABLE IF NOT EXISTS "tix_webhooks_events_newest" (
      subject text COLLATE "C" PRIMARY KEY,
      changed_at text COLLATE "C" NOT NULL,
      rank bigint NOT NULL,
      expires_at bigint NOT NULL
    ) WITH (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.02);

    CREATE INDEX IF NOT EXISTS "tix_webhooks_events_newest_expires" ON "tix_webhooks_events_newest" (expires_at);
    "
  `)
})

test('the tables of MySQL', () => {
  expect(mysqlDdl.replaceAll(/\(SELECT 0 AS n .*?SELECT 15\)/g, '(SELECT 0 … 15)')).toMatchInlineSnapshot(`
    "CREATE TABLE IF NOT EXISTS \`tix_webhooks_events\` (
      \`event_key\` VARBINARY(255) NOT NULL,
      \`state\` VARBINARY(64) NOT NULL,
      \`token\` VARBINARY(64) NOT NULL,
      \`attempt\` INT NOT NULL,
      \`lease_until\` BIGINT NOT NULL,
      \`expires_at\` BIGINT NOT NULL,
      \`received_at\` BIGINT NOT NULL,
      \`namespace\` VARBINARY(1020),
      \`account\` VARBINARY(1020),
      \`kind\` VARBINARY(1020),
      \`handled_at\` BIGINT,
      \`reason\` MEDIUMBLOB,
      \`failure\` VARBINARY(64),
      \`failed_at\` BIGINT,
      \`first_at\` BIGINT,
      \`delivered_at\` BIGINT,
      \`replayed_at\` BIGINT,
      \`fails\` INT,
      \`replays\` INT,
      \`cause\` VARBINARY(64),
      \`code\` VARBINARY(1020),
      \`message\` MEDIUMBLOB,
      \`event_id\` VARBINARY(1020),
      \`order_id\` VARBINARY(1020),
      \`signed_at\` BIGINT,
      \`secret_index\` INT,
      \`raw_body\` LONGBLOB,
      PRIMARY KEY (\`event_key\`),
      KEY \`tix_webhooks_events_failures\` (received_at, event_key, failure),
      KEY \`tix_webhooks_events_causes\` (cause, failed_at, event_key),
      KEY \`tix_webhooks_events_orders\` (order_id)
    ) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;

    CREATE TABLE IF NOT EXISTS \`tix_webhooks_events_locks\` (
      \`slot\` INT UNSIGNED NOT NULL,
      PRIMARY KEY (\`slot\`)
    ) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;

    INSERT IGNORE INTO \`tix_webhooks_events_locks\` (slot)
    SELECT a.n + 16 * b.n + 256 * c.n + 4096 * d.n AS slot
    FROM (SELECT 0 … 15) AS a, (SELECT 0 … 15) AS b, (SELECT 0 … 15) AS c, (SELECT 0 … 15) AS d
    ORDER BY slot;

    CREATE TABLE IF NOT EXISTS \`tix_webhooks_events_newest\` (
      \`subject\` VARBINARY(1020) NOT NULL,
      \`changed_at\` VARBINARY(30) NOT NULL,
      \`rank\` BIGINT NOT NULL,
      \`expires_at\` BIGINT NOT NULL,
      PRIMARY KEY (\`subject\`),
      KEY \`tix_webhooks_events_newest_expires\` (expires_at)
    ) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;
    "
  `)
})

const db = { prepare: () => {}, exec: () => {} } as never

test('the tables of SQLite, of which D1 and Durable Objects have the first', () => {
  expect(sqliteInbox(db).ddl).toMatchInlineSnapshot(`
    "CREATE TABLE IF NOT EXISTS "tix_webhooks_events" (
      event_key TEXT NOT NULL PRIMARY KEY,
      state TEXT NOT NULL,
      token TEXT NOT NULL,
      attempt INTEGER NOT NULL,
      lease_until INTEGER NOT NULL,
      expires_at INTEGER NOT NULL,
      received_at INTEGER NOT NULL,
      namespace TEXT,
      account TEXT,
      kind TEXT,
      handled_at INTEGER,
      reason TEXT,
      failure TEXT,
      failed_at INTEGER,
      first_at INTEGER,
      delivered_at INTEGER,
      replayed_at INTEGER,
      fails INTEGER,
      replays INTEGER,
      cause TEXT,
      code TEXT,
      message TEXT,
      event_id TEXT,
      order_id TEXT,
      signed_at INTEGER,
      secret_index INTEGER,
      raw_body BLOB
    ) WITHOUT ROWID;
    CREATE INDEX IF NOT EXISTS "tix_webhooks_events_received" ON "tix_webhooks_events" (received_at, event_key);
    CREATE INDEX IF NOT EXISTS "tix_webhooks_events_failures" ON "tix_webhooks_events" (received_at, event_key, failure, failed_at, expires_at, kind, namespace, account, event_id) WHERE failed_at IS NOT NULL;
    CREATE INDEX IF NOT EXISTS "tix_webhooks_events_causes" ON "tix_webhooks_events" (cause, failed_at, event_key, failure, expires_at, kind, namespace, account, received_at, replays, first_at) WHERE failed_at IS NOT NULL;
    CREATE INDEX IF NOT EXISTS "tix_webhooks_events_orders" ON "tix_webhooks_events" (order_id) WHERE failed_at IS NOT NULL;

    CREATE TABLE IF NOT EXISTS "tix_webhooks_events_newest" (
      subject TEXT NOT NULL PRIMARY KEY,
      changed_at TEXT NOT NULL,
      rank INTEGER NOT NULL,
      expires_at INTEGER NOT NULL
    ) WITHOUT ROWID;
    CREATE INDEX IF NOT EXISTS "tix_webhooks_events_newest_expires_at" ON "tix_webhooks_events_newest" (expires_at);
    "
  `)
  expect(sqliteInbox(db).ddl).toContain(sqliteStore(db).ddl)
  const ofD1 = d1Store({ ...(db as object), batch: () => {} } as never).ddl
  const packed = (sql: string): string => sql.replaceAll(/\s/g, '')
  expect(packed(ofD1)).toBe(packed(sqliteStore(db).ddl))
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
  expect(calls).toEqual(['shard-2', { method: 'claim', args: [request] }])
})
