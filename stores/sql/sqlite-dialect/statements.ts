/** The columns of a store's table, with their types. Times are in milliseconds. */
export const STORE_COLUMNS: Readonly<Record<string, string>> = {
  key: 'TEXT NOT NULL PRIMARY KEY',
  state: "TEXT NOT NULL CHECK (state IN ('running', 'completed', 'released'))",
  attempt: 'INTEGER NOT NULL',
  token: 'TEXT NOT NULL',
  lease_until: 'INTEGER NOT NULL',
  expires_at: 'INTEGER NOT NULL',
}

export type StoreStatement = 'claim' | 'find' | 'renew' | 'complete' | 'release'

/** The statements of every store on SQLite. */
export function statementsFor(table: string): Readonly<Record<StoreStatement, string>> {
  const isHolders = 'key = @key AND token = @token AND expires_at > @now'
  return {
    // It writes only if it takes the record, so that a duplicate need not wait for the disk.
    claim: `
      INSERT INTO ${table} AS stored (key, state, attempt, token, lease_until, expires_at)
      VALUES (@key, 'running', 1, @token, @leaseUntil, @expiresAt)
      ON CONFLICT (key) DO UPDATE SET
        state = 'running',
        attempt = CASE
          WHEN stored.expires_at <= @now THEN 1
          WHEN stored.token = excluded.token THEN stored.attempt
          ELSE stored.attempt + 1
        END,
        token = excluded.token,
        lease_until = excluded.lease_until,
        expires_at = excluded.expires_at
      WHERE
        stored.expires_at <= @now
        OR stored.state = 'running' AND (stored.token = excluded.token OR stored.lease_until <= @now)
        OR stored.state = 'released' AND stored.token <> excluded.token
      RETURNING attempt`,
    find: `SELECT state, lease_until FROM ${table} WHERE key = @key AND expires_at > @now`,
    renew: `UPDATE ${table} SET lease_until = @leaseUntil WHERE ${isHolders} AND state = 'running'`,
    // An absent record is written: its event was handled.
    complete: `
      INSERT INTO ${table} AS stored (key, state, attempt, token, lease_until, expires_at)
      VALUES (@key, 'completed', 1, @token, @now, @expiresAt)
      ON CONFLICT (key) DO UPDATE SET
        state = 'completed', token = excluded.token, expires_at = excluded.expires_at
      WHERE
        stored.expires_at <= @now
        OR stored.token = excluded.token AND stored.state IN ('running', 'completed')`,
    release: `UPDATE ${table} SET state = 'released' WHERE ${isHolders} AND state IN ('running', 'released')`,
  }
}
