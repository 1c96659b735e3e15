/** A statement of the store. A request that is alone has one of its own, which costs the server a tenth less. */
interface StoreStatement {
  readonly parameters: readonly (keyof StoreRequest)[]
  /** For one request. The count is of the records that it has written, or found. */
  readonly one: string
  /**
   * For several, each of another key and in the order of keys: each parameter is an array with an element of each request. It returns
   * a row for each record that it has written, or found: the number of its request, from 1, and the columns of `one`.
   */
  readonly many: string
}

export interface StoreRequest {
  readonly key: string
  readonly token?: string
  readonly leaseMs?: number
  readonly retainMs?: number
}

export type StoreStatements = Readonly<
  Record<'claim' | 'renew' | 'complete' | 'release' | 'findCompleted', StoreStatement>
>

/**
 * Each is atomic by itself, and locks records in the order of keys, so that no two wait for each other.
 *
 * They use now(), not clock_timestamp(): a condition that is evaluated several times must give the same result each time.
 */
export function statementsFor(table: string): StoreStatements {
  const insert = `
      INSERT INTO ${table} AS stored (key, state, attempt, token, lease_until, expires_at, purge_after)`
  const number = 'array_position($1::text[] COLLATE "C", key)'

  const isFree = `(
      stored.expires_at <= now()
      OR stored.state = 'running' AND (stored.token = excluded.token OR stored.lease_until <= now())
      OR stored.state = 'released' AND stored.token <> excluded.token
    )`
  // It always updates, so that it always returns a row: DO UPDATE … WHERE returns none for a record of another holder, and a
  // second statement that reads that record would be a race.
  const claim = `
      ON CONFLICT (key) DO UPDATE SET (state, attempt, token, lease_until, expires_at, purge_after) = (
        SELECT
          'running',
          CASE
            WHEN stored.expires_at <= now() THEN 1
            WHEN stored.token = excluded.token THEN stored.attempt
            ELSE stored.attempt + 1
          END,
          excluded.token, excluded.lease_until, excluded.expires_at, excluded.purge_after
        WHERE ${isFree}
        UNION ALL
        SELECT stored.state, stored.attempt, stored.token, stored.lease_until, stored.expires_at, stored.purge_after
        WHERE NOT ${isFree}
      )`
  const claimed = (token: string): string => `
        state = 'running' AND token = ${token} AS ours,
        state = 'completed' AS completed,
        state = 'released' AS released,
        attempt,
        -- The clock: this statement may have waited for another one since now().
        date_part('epoch', lease_until - clock_timestamp()) * 1000 AS remaining`

  // An absent record is written: its event was handled.
  const complete = `
      ON CONFLICT (key) DO UPDATE SET
        state = 'completed',
        token = excluded.token,
        expires_at = excluded.expires_at,
        purge_after = CASE WHEN stored.expires_at <= now() THEN excluded.purge_after ELSE stored.purge_after END
      WHERE
        stored.expires_at <= now()
        OR stored.token = excluded.token AND stored.state IN ('running', 'completed')`

  const isHolders = (key: string, token: string): string =>
    `key = ${key} AND token = ${token} AND expires_at > now()`
  // Not an UPDATE … FROM: Postgres may plan that to read the whole table, and keeps a plan that it made while the table was small. The
  // LATERAL reads and locks one record after the other, in its newest version, and the conflict is always with that record.
  const changeHeld = (asked: string, values: string, states: string, change: string): string => `${insert}
      SELECT held.key, ${values}, held.expires_at, held.purge_after
      FROM ${asked} CROSS JOIN LATERAL (
        SELECT * FROM ${table} WHERE ${isHolders('asked.key', 'asked.token')} AND ${states} FOR UPDATE
      ) AS held
      ON CONFLICT (key) DO UPDATE SET ${change}
      RETURNING ${number} AS n`

  const isRunning = "state = 'running'"
  const isCompleted = "state = 'completed' AND expires_at > now()"
  const isReleasable = "state IN ('running', 'released')"
  return {
    claim: {
      parameters: ['key', 'token', 'leaseMs', 'retainMs'],
      one: `${insert}
      VALUES ($1, 'running', 1, $2, ${inMs('$3')}, ${inMs('$4')}, ${inMs('$4')})
      ${claim}
      RETURNING ${claimed('$2')}`,
      many: `${insert}
      SELECT key, 'running', 1, token, ${inMs('lease_ms')}, ${inMs('retain_ms')}, ${inMs('retain_ms')}
      FROM unnest($1::text[], $2::text[], $3::float8[], $4::float8[]) AS asked (key, token, lease_ms, retain_ms)
      ${claim}
      RETURNING ${number} AS n, ${claimed(`($2::text[])[${number}]`)}`,
    },
    renew: {
      parameters: ['key', 'token', 'leaseMs'],
      one: `
      UPDATE ${table} SET lease_until = ${inMs('$3')}
      WHERE ${isHolders('$1', '$2')} AND ${isRunning}`,
      many: changeHeld(
        'unnest($1::text[], $2::text[], $3::float8[]) AS asked (key, token, lease_ms)',
        `held.state, held.attempt, held.token, ${inMs('asked.lease_ms')}`,
        isRunning,
        'lease_until = excluded.lease_until',
      ),
    },
    complete: {
      parameters: ['key', 'token', 'retainMs'],
      one: `${insert}
      VALUES ($1, 'completed', 1, $2, now(), ${inMs('$3')}, ${inMs('$3')})
      ${complete}`,
      many: `${insert}
      SELECT key, 'completed', 1, token, now(), ${inMs('retain_ms')}, ${inMs('retain_ms')}
      FROM unnest($1::text[], $2::text[], $3::float8[]) AS asked (key, token, retain_ms)
      ${complete}
      RETURNING ${number} AS n`,
    },
    release: {
      parameters: ['key', 'token'],
      one: `
      UPDATE ${table} SET state = 'released'
      WHERE ${isHolders('$1', '$2')} AND ${isReleasable}`,
      many: changeHeld(
        'unnest($1::text[], $2::text[]) AS asked (key, token)',
        "'released', held.attempt, held.token, held.lease_until",
        isReleasable,
        'state = excluded.state',
      ),
    },
    findCompleted: {
      parameters: ['key'],
      one: `SELECT true AS found FROM ${table} WHERE key = $1 AND ${isCompleted}`,
      many: `SELECT ${number} AS n FROM ${table} WHERE key = ANY($1::text[]) AND ${isCompleted}`,
    },
  }
}

function inMs(milliseconds: string): string {
  return `now() + ${milliseconds}::float8 * interval '1 ms'`
}

/** An array as a literal of Postgres: clients convert arrays of their own in different ways. */
export function arrayLiteral(values: readonly (string | number | undefined)[]): string {
  return `{${values.map((value) => `"${String(value).replace(/["\\]/g, '\\$&')}"`).join()}}`
}
