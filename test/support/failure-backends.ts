import { Kysely, PostgresDialect } from 'kysely'
import { Pool } from 'pg'
import postgres from 'postgres'
import { type KeptFailures, memoryFailures } from 'tix-webhooks'
import { type MysqlFailures, mysqlFailures } from 'tix-webhooks/mysql'
import { type PostgresFailures, postgresFailures } from 'tix-webhooks/postgres'
import type { FailureHarness } from 'tix-webhooks/testing'
import { describe } from 'vitest'
import { createMariadb, createMysql2 } from './mysql-clients.js'
import { mysqlUrl, onMysql, onPostgres, postgresUrl } from './on-servers.js'
import { kyselyDriver } from './postgres-clients.js'
import { SQLITE_FAILURES } from './sqlite-failures.js'
import { someTurns } from './store-backend.js'

/** A fresh backend on a server of the run, and how to close it. */
export interface FailureBackend extends Required<FailureHarness> {
  create(): Promise<KeptFailures>
  close(): Promise<void>
}

/** Failures over one client library: `describe` if it is available, and a fresh backend. */
export interface FailureKind {
  readonly name: string
  readonly describe: typeof describe | ReturnType<typeof describe.skipIf>
  open(): Promise<FailureBackend>
}

async function openMemory(): Promise<FailureBackend> {
  const failures = memoryFailures()
  const create = async (): Promise<KeptFailures> => delayed(failures)
  return { create, createSecond: create, purge: (options) => failures.purge(options), close: async () => {} }
}

/** The same failures, with calls and answers that take a while to arrive, as over a network. */
function delayed(failures: KeptFailures): KeptFailures {
  async function deliver<T>(send: () => Promise<T>): Promise<T> {
    await someTurns()
    const answer = await send()
    await someTurns()
    return answer
  }
  return {
    keep: (failed) => deliver(() => failures.keep(failed)),
    get: (key) => deliver(() => failures.get(key)),
    delete: (key) => deliver(() => failures.delete(key)),
    list: (query) => deliver(() => failures.list(query)),
    groups: (query) => deliver(() => failures.groups(query)),
    count: (filter) => deliver(() => failures.count(filter)),
    purge: (options) => deliver(() => failures.purge(options)),
  }
}

async function openOnPg(): Promise<FailureBackend> {
  return sqlBackend(newPool, (pool) => postgresFailures(pool, { table }))
}

async function openOnPostgresJs(): Promise<FailureBackend> {
  const connect = () => postgres(postgresUrl(), { max: 4, onnotice() {} })
  return sqlBackend(connect, (sql) => postgresFailures(sql, { table }))
}

async function openOnKysely(): Promise<FailureBackend> {
  return sqlBackend(newPool, (pool) =>
    postgresFailures(kyselyDriver(new Kysely({ dialect: new PostgresDialect({ pool }) })), { table }),
  )
}

async function openOnMysql2(): Promise<FailureBackend> {
  return sqlBackend(
    () => createMysql2(mysqlUrl()),
    (pool) => mysqlFailures(pool, { table }),
  )
}

async function openOnMariadb(): Promise<FailureBackend> {
  return sqlBackend(
    () => createMariadb(mysqlUrl()),
    (pool) => mysqlFailures(pool, { table }),
  )
}

const table = `failures_${process.pid}_${Date.now().toString(36)}`
const newPool = (): Pool => new Pool({ connectionString: postgresUrl(), max: 4 })

async function sqlBackend<Connected extends { end(): Promise<unknown> }>(
  connect: () => Connected,
  failuresOf: (pool: Connected) => PostgresFailures | MysqlFailures,
): Promise<FailureBackend> {
  const pools: Connected[] = []
  const create = async (): Promise<PostgresFailures | MysqlFailures> => {
    const pool = connect()
    pools.push(pool)
    return failuresOf(pool)
  }
  const failures = await create()
  await failures.migrate()
  return {
    create,
    createSecond: create,
    purge: (options) => failures.purge(options),
    close: async () => void (await Promise.all(pools.map((pool) => pool.end()))),
  }
}

/** All failures of ours, over each client library. */
export const FAILURE_KINDS: readonly FailureKind[] = [
  { name: 'memoryFailures', describe, open: openMemory },
  ...SQLITE_FAILURES,
  { name: 'postgresFailures on pg', describe: onPostgres, open: openOnPg },
  { name: 'postgresFailures on postgres.js', describe: onPostgres, open: openOnPostgresJs },
  { name: 'postgresFailures on Kysely', describe: onPostgres, open: openOnKysely },
  { name: 'mysqlFailures on mysql2', describe: onMysql, open: openOnMysql2 },
  { name: 'mysqlFailures on mariadb', describe: onMysql, open: openOnMariadb },
]
