import { randomBytes } from 'node:crypto'
import { Redis } from 'ioredis'
import mysql from 'mysql2/promise'
import { Pool } from 'pg'
import { mysqlInbox } from 'tix-webhooks/mysql'
import { postgresInbox } from 'tix-webhooks/postgres'

/** The place where a test and its apps keep records and effects, and the test's view of it. */
export interface Place {
  readonly url: string
  /** The prefix of all keys, or the schema or the database of all tables. */
  readonly place: string
  /** The attempts at which each order had its effect. */
  effects(): Promise<ReadonlyMap<string, readonly string[]>>
  /** Lets the lease on this order expire. */
  expireLease(order: { readonly id: string }): Promise<void>
  /** Removes it. */
  close(): Promise<void>
}

export async function redisPlace(url: string, prefix: string): Promise<Place> {
  const place = `${prefix}${randomBytes(4).toString('hex')}:`
  const client = new Redis(url).on('error', () => {})
  return {
    url,
    place,
    async effects() {
      const keys = await client.keys(`${place}effect:*`)
      const found = await Promise.all(keys.map((key) => client.lrange(key, 0, -1)))
      return new Map(keys.map((key, i) => [key.slice(`${place}effect:`.length), found[i] ?? []]))
    },
    async expireLease({ id }) {
      for (const key of await client.keys(`${place}record:*/${id}`)) {
        await client.pexpire(key, (await client.pttl(key)) - 3_600_000)
      }
    },
    async close() {
      const keys = await client.keys(`${place}*`)
      if (keys.length > 0) await client.unlink(keys)
      client.disconnect()
    },
  }
}

/** A place with a table of events. */
export interface EventsPlace extends Place {
  /** `handled` or `failed` for each order that is either; both if a handled one has a failure. */
  recorded(): Promise<ReadonlyMap<string, string>>
  /** Terminates some of the connections of apps. */
  terminate(): Promise<void>
}

const RECORDED = 'event_key AS event, state, failure'

/** MySQL returns words as bytes. */
function recordedIn(rows: readonly Record<string, unknown>[]): Map<string, string> {
  return new Map(
    rows.flatMap(({ event, state, failure }) => {
      const found = [
        ...(String(state) === 'handled' ? ['handled'] : []),
        ...(failure === null ? [] : ['failed']),
      ]
      return found.length === 0 ? [] : [[String(event).replace(/.*\//, ''), found.join(' and ')] as const]
    }),
  )
}

export async function postgresPlace(url: string): Promise<EventsPlace> {
  const place = `proof_${randomBytes(4).toString('hex')}`
  const pool = new Pool({ connectionString: url, max: 2 }).on('error', () => {})
  const named = new URL(url)
  named.searchParams.set('application_name', place)
  await pool.query(`CREATE SCHEMA ${place}`)
  await pool.query(`CREATE TABLE ${place}.effects (id text, attempt text)`)
  await postgresInbox(pool, { table: `${place}.events` }).migrate()
  return {
    url: named.href,
    place,
    async effects() {
      const { rows } = await pool.query(
        `SELECT id, array_agg(attempt ORDER BY attempt) AS attempts FROM ${place}.effects GROUP BY id`,
      )
      return new Map(rows.map(({ id, attempts }) => [id, attempts]))
    },
    async expireLease({ id }) {
      await pool.query(
        `UPDATE ${place}.events SET lease_until = lease_until - 3600000 WHERE event_key LIKE '%/' || $1`,
        [id],
      )
    },
    async recorded() {
      const { rows } = await pool.query(`SELECT ${RECORDED} FROM ${place}.events`)
      return recordedIn(rows)
    },
    async terminate() {
      await pool.query(
        `SELECT pg_terminate_backend(pid) FROM (
           SELECT pid FROM pg_stat_activity WHERE application_name = $1 ORDER BY random() LIMIT 4
         ) AS chosen`,
        [place],
      )
    },
    async close() {
      await pool.query(`DROP SCHEMA ${place} CASCADE`)
      await pool.end()
    },
  }
}

export async function mysqlPlace(url: string): Promise<EventsPlace> {
  const place = `proof_${randomBytes(4).toString('hex')}`
  const pool = mysql.createPool({ uri: url, connectionLimit: 2 })
  const rows = async (sql: string, values: string[] = []) =>
    (await pool.query<mysql.RowDataPacket[]>(sql, values))[0]
  await rows(`CREATE DATABASE ${place}`)
  await rows(
    `CREATE TABLE ${place}.effects (id VARCHAR(64), attempt VARCHAR(64), n INT INVISIBLE AUTO_INCREMENT PRIMARY KEY)`,
  )
  await mysqlInbox(pool, { table: `${place}.events` }).migrate()
  const named = new URL(url)
  named.pathname = `/${place}`
  return {
    url: named.href,
    place,
    async effects() {
      const found = await rows(
        `SELECT id, GROUP_CONCAT(attempt ORDER BY attempt) AS attempts FROM ${place}.effects GROUP BY id`,
      )
      return new Map(found.map(({ id, attempts }) => [id, attempts.split(',')]))
    },
    async expireLease({ id }) {
      await rows(
        `UPDATE ${place}.events SET lease_until = lease_until - 3600000 WHERE event_key LIKE CONCAT('%/', ?)`,
        [id],
      )
    },
    async recorded() {
      return recordedIn(await rows(`SELECT ${RECORDED} FROM ${place}.events`))
    },
    async terminate() {
      const found = await rows(
        'SELECT ID AS id FROM information_schema.PROCESSLIST WHERE DB = ? ORDER BY RAND() LIMIT 4',
        [place],
      )
      // It may have ended since.
      for (const { id } of found) await rows(`KILL ${id}`).catch(() => {})
    },
    async close() {
      await rows(`DROP DATABASE ${place}`)
      await pool.end()
    },
  }
}
