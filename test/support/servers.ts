import { randomBytes } from 'node:crypto'
import { createConnection } from 'mysql2/promise'
import { Client } from 'pg'
import { createClient } from 'redis'
import type { TestProject } from 'vitest/node'
import { findMysql, startMysql } from './mysql-server.js'
import { findPostgres, startPostgres } from './postgres-server.js'
import { findRedis, startRedis } from './redis-server.js'

/** Each server of the tests. */
const SERVERS = {
  redis: { title: 'Redis', variable: 'REDIS_URL', find: findRedis, start: startRedis, open: openRedis },
  postgres: {
    title: 'Postgres',
    variable: 'DATABASE_URL',
    find: findPostgres,
    start: startPostgres,
    open: openDatabase(queryPostgres, ' with (force)'),
  },
  mysql: {
    title: 'MySQL',
    variable: 'MYSQL_URL',
    find: findMysql,
    start: startMysql,
    open: openDatabase(queryMysql),
  },
} satisfies Record<string, Server>

export type ServerName = keyof typeof SERVERS

interface Server {
  readonly title: string
  /** The variable with the URL of a server that is already running. */
  readonly variable: string
  /** Rejects if none can be started. */
  find(): Promise<unknown>
  start(): Promise<{ readonly url: string; stop(): Promise<void> }>
  /** Prepares a place for this run on a server, and removes it at the end. */
  open(url: string, run: string): Promise<Opened>
}

interface Opened {
  readonly url: string
  close(): Promise<unknown>
}

declare module 'vitest' {
  /** Tests use these through `on-servers.ts`. */
  interface ProvidedContext {
    /** The URL of each server, with a database for this run only; null if there is none. */
    urls: Readonly<Record<ServerName, string | null>>
    /** Whether tests can start servers of their own. */
    startable: Readonly<Record<ServerName, boolean>>
    /** The prefix of all keys of this run. */
    redisPrefix: string
  }
}

const prefixOf = (run: string): string => `tix-webhooks-test:${run}:`

/** Vitest's global setup: the servers that the tests share, once per run. */
export default async function setup(project: Pick<TestProject, 'provide'>): Promise<() => Promise<void>> {
  const run = randomBytes(6).toString('hex')
  const names = Object.keys(SERVERS) as ServerName[]
  const settled = await Promise.allSettled(names.map((name) => obtain(SERVERS[name], run)))
  const obtained = settled.flatMap((one) => (one.status === 'fulfilled' ? one.value : []))
  const close = async (): Promise<void> => {
    await Promise.all(obtained.map(({ opened }) => opened?.close()))
  }
  const faults = settled.flatMap((one) => (one.status === 'rejected' ? (one.reason as Error) : []))
  if (faults.length > 0) {
    await close()
    throw new AggregateError(faults, faults.map(({ message }) => message).join('\n'))
  }

  const each = <Value>(pick: (one: Obtained | undefined) => Value) =>
    Object.fromEntries(names.map((name, index) => [name, pick(obtained[index])])) as Record<ServerName, Value>
  const urls = each((one) => one?.opened?.url ?? null)
  project.provide('urls', urls)
  const startable = each((one) => one?.skipped === undefined)
  project.provide('startable', startable)
  project.provide('redisPrefix', prefixOf(run))

  return async () => {
    await close()
    // After the summary, where it is noticed.
    for (const { skipped } of obtained) if (skipped) console.warn(`SKIPPED: ${skipped}`)
  }
}

interface Obtained {
  readonly opened?: Opened
  /** The tests that cannot run, and why. */
  readonly skipped?: string
}

/** Rejects if the whole run must fail. */
async function obtain({ title, variable, find, start, open }: Server, run: string): Promise<Obtained> {
  const given = process.env[variable]
  if (given) {
    const opened = await open(given, run).catch((cause: unknown) => {
      throw new Error(`The given ${title} cannot be used: ${messageOf(cause)}`, { cause })
    })
    return find().then(
      () => ({ opened }),
      async (error: unknown) => {
        if (process.env.CI === 'true') await opened.close()
        return { opened, skipped: skip(`the tests that start a ${title} of their own`, error) }
      },
    )
  }
  try {
    const server = await start()
    const { url } = await open(server.url, run)
    return { opened: { url, close: server.stop } }
  } catch (error) {
    return { skipped: skip(`the ${title} tests`, error) }
  }
}

function skip(tests: string, cause: unknown): string {
  const skipped = `${tests}, because ${messageOf(cause)}`
  if (process.env.CI !== 'true') return skipped
  throw new Error(`With CI=true nothing may be skipped: ${skipped}`, { cause })
}

function messageOf(error: unknown): string {
  return (error instanceof Error ? error.message || String(error) : String(error)).replace(/\s*\n\s*/g, ' ')
}

async function openRedis(url: string, run: string): Promise<Opened> {
  const connected = async () => createClient({ url, socket: { reconnectStrategy: false } }).connect()
  ;(await connected()).destroy()
  return {
    url,
    async close() {
      const client = await connected()
      for await (const keys of client.scanIterator({ MATCH: `${prefixOf(run)}*`, COUNT: 1_000 })) {
        if (keys.length > 0) await client.unlink(keys)
      }
      client.destroy()
    },
  }
}

/** Creates a database on a server. */
function openDatabase(
  query: (url: string, statement: string) => Promise<unknown>,
  force = '',
): Server['open'] {
  return async (given, run) => {
    const database = `tix_webhooks_test_${run}`
    await query(given, `create database ${database}`)
    const url = new URL(given)
    url.pathname = `/${database}`
    return { url: url.href, close: () => query(given, `drop database if exists ${database}${force}`) }
  }
}

async function queryPostgres(url: string, statement: string): Promise<void> {
  const client = new Client({ connectionString: url })
  await client.connect()
  await client.query(statement).finally(() => client.end())
}

async function queryMysql(url: string, statement: string): Promise<void> {
  const connection = await createConnection(url)
  await connection.query(statement).finally(() => connection.end())
}
