import { bytes, inMs, NOW, whole } from './sql.js'

export interface StoreRequest {
  readonly key: string
  readonly token?: string
  readonly leaseMs?: number
  readonly retainMs?: number
}

interface StoreStatement {
  /** For one request. The server returns the answer as the id of the insert: see `ANSWER`. */
  one(request: StoreRequest): string
  /** For several, each of another key and in the order of keys. */
  many(requests: readonly StoreRequest[]): string
  /** Whether a record is in the state in which `many` leaves it for a request. */
  isDone(record: StoredRecord, request: StoreRequest): boolean
}

export type StoreStatements = Readonly<Record<'claim' | 'renew' | 'complete' | 'release', StoreStatement>>

/** A record as `reading` selects it. */
export interface StoredRecord {
  readonly token: string
  readonly state: 'running' | 'completed' | 'released'
  readonly attempt: number
  /** The rest of the lease. */
  readonly leftMs: number
}

/** The columns. An answer is a column because the server returns the value of an expression only if it is stored. */
export const STORE_COLUMNS = {
  key: 'VARBINARY(255) NOT NULL',
  state: "ENUM('running', 'completed', 'released') NOT NULL",
  attempt: 'INT UNSIGNED NOT NULL',
  token: 'VARBINARY(64) NOT NULL',
  lease_until: 'DATETIME(6) NOT NULL',
  expires_at: 'DATETIME(6) NOT NULL',
  // The end of the retention that the claim asked for. The index is on it, because a completion does not change it.
  purge_after: 'DATETIME(6) NOT NULL',
  answer: 'BIGINT NOT NULL',
}

/**
 * The answers to a claim: the lowest two bits are one of these, and the others a number. No answer, 0, means that the record was absent and
 * was written, or that no record was found.
 */
export const ANSWER = { claimed: 0, completed: 1, released: 2, inFlight: 3 } as const

/** It gives the same answer by another number than before: InnoDB does not write an unchanged row, and so does not flush. */
const TOUCHED = `IF(answer = ${ANSWER.completed}, ${ANSWER.completed + 4}, ${ANSWER.completed})`

/** The answers to the other requests. */
export const DONE = 1
const REFUSED = 2

/**
 * Each is atomic by itself, and locks records in the order of keys.
 *
 * Assignments are made from left to right, and see what those before them have assigned: so the answer is first, and decides the rest.
 */
export function statementsFor(table: string): StoreStatements {
  const inserting = (state: string, requests: readonly StoreRequest[]): string => {
    const rows = requests.map(({ key, token = '', leaseMs = 0, retainMs = 0 }) => {
      const expires = inMs(retainMs)
      return `(${bytes(key)}, '${state}', 1, ${bytes(token)}, ${inMs(leaseMs)}, ${expires}, ${expires}, 0)`
    })
    return `
      INSERT INTO ${table} (\`key\`, state, attempt, token, lease_until, expires_at, purge_after, answer)
      VALUES ${rows.join(', ')}
      ON DUPLICATE KEY UPDATE`
  }

  const claim = (requests: readonly StoreRequest[]): string => `${inserting('running', requests)}
        answer = LAST_INSERT_ID(CASE
          WHEN expires_at <= ${NOW} THEN 4
          WHEN state = 'running' AND token = VALUES(token) THEN 4 * attempt
          WHEN state = 'running' AND lease_until <= ${NOW} THEN 4 * (attempt + 1)
          WHEN state = 'released' AND token <> VALUES(token) THEN 4 * (attempt + 1)
          WHEN state = 'completed' THEN ${TOUCHED}
          WHEN state = 'released' THEN ${ANSWER.released}
          ELSE 4 * ${MS_LEFT_SQL} + ${ANSWER.inFlight}
        END),
        attempt = IF(answer % 4 = 0, answer DIV 4, attempt),
        state = IF(answer % 4 = 0, 'running', state),
        token = IF(answer % 4 = 0, VALUES(token), token),
        lease_until = IF(answer % 4 = 0, VALUES(lease_until), lease_until),
        expires_at = IF(answer % 4 = 0, VALUES(expires_at), expires_at),
        purge_after = IF(answer % 4 = 0, VALUES(purge_after), purge_after)`

  // An absent record is written: its event was handled.
  const complete = (requests: readonly StoreRequest[]): string => `${inserting('completed', requests)}
        answer = LAST_INSERT_ID(IF(
          expires_at <= ${NOW} OR token = VALUES(token) AND state IN ('running', 'completed'), ${DONE}, ${REFUSED})),
        purge_after = IF(answer = ${DONE} AND expires_at <= ${NOW}, VALUES(purge_after), purge_after),
        state = IF(answer = ${DONE}, 'completed', state),
        token = IF(answer = ${DONE}, VALUES(token), token),
        expires_at = IF(answer = ${DONE}, VALUES(expires_at), expires_at)`

  /** With one key it is found by the primary key; a join with several begins with them, and finds each in the same way. */
  const changing = (
    requests: readonly StoreRequest[],
    states: string,
    change: (leaseUntil: string) => string,
  ): string => {
    const [first] = requests
    const isHeld = `expires_at > ${NOW} AND state IN (${states})`
    if (requests.length === 1 && first !== undefined) {
      return `
      UPDATE ${table} SET answer = LAST_INSERT_ID(${DONE}), ${change(inMs(first.leaseMs ?? 0))}
      WHERE \`key\` = ${bytes(first.key)} AND token = ${bytes(first.token ?? '')} AND ${isHeld}`
    }
    const asked = requests.map(
      ({ key, token = '', leaseMs = 0 }) =>
        `SELECT ${bytes(key)} AS asked_key, ${bytes(token)} AS asked_token, ${whole(leaseMs * 1000)} AS lease`,
    )
    return `
      UPDATE (${asked.join(' UNION ALL ')}) AS asked STRAIGHT_JOIN ${table} AS present
        ON present.\`key\` = asked_key AND token = asked_token
      SET answer = ${DONE}, ${change(`${NOW} + INTERVAL lease MICROSECOND`)}
      WHERE ${isHeld}`
  }

  const renew = (requests: readonly StoreRequest[]): string =>
    changing(requests, "'running'", (leaseUntil) => `lease_until = ${leaseUntil}`)
  const release = (requests: readonly StoreRequest[]): string =>
    changing(requests, "'running', 'released'", () => "state = 'released'")

  const statement = (
    make: (requests: readonly StoreRequest[]) => string,
    state: StoredRecord['state'],
  ): StoreStatement => ({
    one: (request) => make([request]),
    many: make,
    isDone: (record, { token }) => record.token === token && record.state === state,
  })
  return {
    claim: statement(claim, 'running'),
    renew: statement(renew, 'running'),
    complete: statement(complete, 'completed'),
    release: statement(release, 'released'),
  }
}

/** The rest of the lease now: the statement may have waited for another since it began. */
const WAITED = 'TIMESTAMPDIFF(MICROSECOND, NOW(6), SYSDATE(6))'
const MS_LEFT_SQL = `GREATEST(1, CEIL((TIMESTAMPDIFF(MICROSECOND, ${NOW}, lease_until) - ${WAITED}) / 1000))`

/** Of a small table the server would read, and so lock, all records. */
const BY_KEY = 'FORCE INDEX (PRIMARY)'

/** The records of some keys: the key, the token and the rest of each. Locked, so that they are what is committed, at any level. */
export function reading(table: string, keys: readonly string[]): string {
  return `
      SELECT CONCAT('x', HEX(\`key\`)), CONCAT('x', HEX(token)), state + 0, attempt, ${MS_LEFT_SQL}
      FROM ${table} ${BY_KEY} WHERE \`key\` IN (${keys.map(bytes).join(', ')}) AND expires_at > ${NOW} FOR UPDATE`
}

export function findingCompleted(table: string, keys: readonly string[]): string {
  return `SELECT CONCAT('x', HEX(\`key\`)) FROM ${table} WHERE ${isCompleted(keys)}`
}

/** A write to completed records that were read: its commit is on disk only after theirs. */
export function touchingCompleted(table: string, keys: readonly string[]): string {
  return `UPDATE ${table} ${BY_KEY} SET answer = ${TOUCHED} WHERE ${isCompleted(keys)}`
}

function isCompleted(keys: readonly string[]): string {
  return `\`key\` IN (${keys.map(bytes).join(', ')}) AND state = 'completed' AND expires_at > ${NOW}`
}
