import { randomBytes } from 'node:crypto'
import { createConnection } from 'mysql2/promise'
import { Client } from 'pg'
import { createClient } from 'redis'
import type { TestProject } from 'vitest/node'
import { findMysql, startMysql } from './mysql-server.js'
import { findPostgres, startPostgres } from './postgres-server.js'
import { findRedis, startRedis } from './redis-server.js'

declare module 'vitest' {
  /** Tests use these through `on-servers.ts`. */
  interface ProvidedContext {
    redisUrl: string | null
    /** The prefix of all keys of this run. */
    redisPrefix: string
    /** A database for this run only. */
    postgresUrl: string | null
    /** A database for this run only. */
    mysqlUrl: string | null
    /** Whether tests can start servers of their own. */
    startable: { redis: boolean; postgres: boolean; mysql: boolean }
  }
}

/** Vitest's global setup: the servers that the tests share, once per run. */
export default async function setup(project: Pick<TestProject, 'provide'>): Promise<() => Promise<void>> {
  const run = randomBytes(6).toString('hex')
  const prefix = `tix-webhooks-test:${run}:`
  const database = `tix_webhooks_test_${run}`
  const [redis, postgres, mysql] = await Promise.all([
    obtain({
      name: 'Redis',
      given: process.env.REDIS_URL,
      open: (url) => openRedis(url, prefix),
      find: findRedis,
      start: ownRedis,
    }),
    obtain({
      name: 'Postgres',
      given: process.env.DATABASE_URL,
      open: (url) => openPostgres(url, database),
      find: findPostgres,
      start: () => ownPostgres(database),
    }),
    obtain({
      name: 'MySQL',
      given: process.env.MYSQL_URL,
      open: (url) => openMysql(url, database),
      find: findMysql,
      start: () => ownMysql(database),
    }),
  ])

  const close = async (): Promise<void> => {
    await Promise.all([redis.opened?.close(), postgres.opened?.close(), mysql.opened?.close()])
  }
  const faults = [redis, postgres, mysql].flatMap(({ fault }) => fault ?? [])
  if (faults.length > 0) {
    await close()
    throw new AggregateError(faults, faults.map(({ message }) => message).join('\n'))
  }

  project.provide('redisUrl', redis.opened?.url ?? null)
  project.provide('redisPrefix', prefix)
  project.provide('postgresUrl', postgres.opened?.url ?? null)
  project.provide('mysqlUrl', mysql.opened?.url ?? null)
  project.provide('startable', {
    redis: !redis.skipped,
    postgres: !postgres.skipped,
    mysql: !mysql.skipped,
  })

  return async () => {
    await close()
    // After the summary, where it is noticed.
    for (const { skipped } of [redis, postgres, mysql]) if (skipped) console.warn(`SKIPPED: ${skipped}`)
  }
}

interface Opened {
  readonly url: string
  close(): Promise<void>
}

interface Source {
  readonly name: string
  /** The URL of a server that is already running. */
  readonly given: string | undefined
  /** Connects to it, and prepares a place for this run. */
  open(url: string): Promise<Opened>
  /** Rejects if none can be started. */
  find(): Promise<unknown>
  /** Starts one for this run. */
  start(): Promise<Opened>
}

interface Obtained {
  readonly opened?: Opened
  /** The tests that cannot run, and why. */
  readonly skipped?: string
  /** The reason why the whole run must fail. */
  readonly fault?: Error
}

async function obtain({ name, given, open, find, start }: Source): Promise<Obtained> {
  let opened: Opened | undefined
  if (given) {
    try {
      opened = await open(given)
    } catch (error) {
      return { fault: new Error(`The given ${name} cannot be used: ${messageOf(error)}`, { cause: error }) }
    }
  }
  try {
    if (opened === undefined) return { opened: await start() }
    await find()
    return { opened }
  } catch (error) {
    const which = opened === undefined ? `the ${name} tests` : `the tests that start a ${name} of their own`
    const skipped = `${which}, because ${messageOf(error)}`
    const rest = opened === undefined ? {} : { opened }
    if (process.env.CI !== 'true') return { ...rest, skipped }
    return { ...rest, fault: new Error(`With CI=true nothing may be skipped: ${skipped}`, { cause: error }) }
  }
}

function messageOf(error: unknown): string {
  return (error instanceof Error ? error.message || String(error) : String(error)).replace(/\s*\n\s*/g, ' ')
}

async function ownRedis(): Promise<Opened> {
  const { url, stop } = await startRedis()
  return { url, close: stop }
}

/** On a shared Redis, this run's keys are removed at its end. */
async function openRedis(url: string, prefix: string): Promise<Opened> {
  const connected = async () => createClient({ url, socket: { reconnectStrategy: false } }).connect()
  ;(await connected()).destroy()
  return {
    url,
    async close() {
      const client = await connected()
      for await (const keys of client.scanIterator({ MATCH: `${prefix}*`, COUNT: 1_000 })) {
        if (keys.length > 0) await client.unlink(keys)
      }
      client.destroy()
    },
  }
}

async function ownPostgres(database: string): Promise<Opened> {
  const server = await startPostgres()
  const { url } = await openPostgres(server.url, database)
  return { url, close: server.stop }
}

/** Creates a database for this run on a shared server, and removes it at its end. */
async function openPostgres(given: string, database: string): Promise<Opened> {
  const query = async (statement: string): Promise<void> => {
    const client = new Client({ connectionString: given })
    await client.connect()
    await client.query(statement).finally(() => client.end())
  }
  await query(`create database ${database}`)
  const url = new URL(given)
  url.pathname = `/${database}`
  return { url: url.href, close: () => query(`drop database if exists ${database} with (force)`) }
}

async function ownMysql(database: string): Promise<Opened> {
  const server = await startMysql()
  const { url } = await openMysql(server.url, database)
  return { url, close: server.stop }
}

/** Creates a database for this run on a shared MySQL or MariaDB, and removes it at its end. */
async function openMysql(given: string, database: string): Promise<Opened> {
  const query = async (statement: string): Promise<void> => {
    const connection = await createConnection(given)
    await connection.query(statement).finally(() => connection.end())
  }
  await query(`create database ${database}`)
  const url = new URL(given)
  url.pathname = `/${database}`
  return { url: url.href, close: () => query(`drop database if exists ${database}`) }
}
