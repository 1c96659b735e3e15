import { randomBytes } from 'node:crypto'
import { Redis } from 'ioredis'
import mysql from 'mysql2/promise'
import { Pool } from 'pg'
import { mysqlFailures, mysqlInbox, mysqlStore } from 'tix-webhooks/mysql'
import { postgresFailures, postgresInbox, postgresStore } from 'tix-webhooks/postgres'

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

/** A place with an inbox and failures. */
export interface FailingPlace extends Place {
  /** `handled` or `failed` for each order of which there is anything; both if there is both. */
  recorded(): Promise<ReadonlyMap<string, string>>
  /** Terminates some of the connections of apps. */
  terminate(): Promise<void>
}

export async function postgresPlace(url: string): Promise<FailingPlace> {
  const place = `proof_${randomBytes(4).toString('hex')}`
  const pool = new Pool({ connectionString: url, max: 2 }).on('error', () => {})
  const named = new URL(url)
  named.searchParams.set('application_name', place)
  await pool.query(`CREATE SCHEMA ${place}`)
  await pool.query(`CREATE TABLE ${place}.effects (id text, attempt text)`)
  await postgresStore(pool, { table: `${place}.records` }).migrate()
  await postgresInbox(pool, { table: `${place}.inbox` }).migrate()
  await postgresFailures(pool, { table: `${place}.failures` }).migrate()
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
        `UPDATE ${place}.records SET lease_until = lease_until - interval '1 hour' WHERE key LIKE '%/' || $1`,
        [id],
      )
    },
    async recorded() {
      const { rows } = await pool.query(
        `SELECT regexp_replace(key, '.*/', '') AS id, string_agg(what, ' and ' ORDER BY what DESC) AS are FROM (
           SELECT key, 'handled' AS what FROM ${place}.inbox UNION ALL SELECT key, 'failed' FROM ${place}.failures
         ) AS found GROUP BY key`,
      )
      return new Map(rows.map(({ id, are }) => [id, are]))
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

export async function mysqlPlace(url: string): Promise<FailingPlace> {
  const place = `proof_${randomBytes(4).toString('hex')}`
  const pool = mysql.createPool({ uri: url, connectionLimit: 2 })
  const rows = async (sql: string, values: string[] = []) =>
    (await pool.query<mysql.RowDataPacket[]>(sql, values))[0]
  await rows(`CREATE DATABASE ${place}`)
  await rows(
    `CREATE TABLE ${place}.effects (id VARCHAR(64), attempt VARCHAR(64), n INT INVISIBLE AUTO_INCREMENT PRIMARY KEY)`,
  )
  await mysqlStore(pool, { table: `${place}.records` }).migrate()
  await mysqlInbox(pool, { table: `${place}.inbox` }).migrate()
  await mysqlFailures(pool, { table: `${place}.failures` }).migrate()
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
        `UPDATE ${place}.records SET lease_until = lease_until - INTERVAL 1 HOUR WHERE \`key\` LIKE CONCAT('%/', ?)`,
        [id],
      )
    },
    async recorded() {
      const found = await rows(
        `SELECT CONVERT(SUBSTRING_INDEX(\`key\`, '/', -1) USING utf8mb4) AS id,
           GROUP_CONCAT(what ORDER BY what DESC SEPARATOR ' and ') AS found
         FROM (
           SELECT \`key\`, 'handled' AS what FROM ${place}.inbox UNION ALL SELECT \`key\`, 'failed' FROM ${place}.failures
         ) AS recorded GROUP BY \`key\``,
      )
      return new Map(found.map(({ id, found }) => [id, found]))
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
