import { describe, inject } from 'vitest'
import type { ServerName } from './servers.js'

const on = (server: ServerName) => describe.skipIf(inject('urls')[server] === null)
const onOwn = (server: ServerName) => describe.skipIf(!inject('startable')[server])

/** `describe` for tests on a server of the run: skipped if there is none. */
export const onRedis = on('redis')
export const onPostgres = on('postgres')
export const onMysql = on('mysql')

/** `describe` for tests that start a server of their own: skipped if they cannot. */
export const onOwnRedis = onOwn('redis')
export const onOwnPostgres = onOwn('postgres')
export const onOwnMysql = onOwn('mysql')

/** The server of the run, on Postgres and MySQL with a database for it. For hooks and tests: the body of a `describe` runs even if it is skipped. */
export const redisUrl = (): string => urlOf('redis')
export const postgresUrl = (): string => urlOf('postgres')
export const mysqlUrl = (): string => urlOf('mysql')

function urlOf(server: ServerName): string {
  const url = inject('urls')[server]
  if (url === null) throw new Error(`There is no ${server}: ask for its URL in a hook or a test`)
  return url
}

/** A unique key prefix for a test file, in the run's Redis. */
export function redisPrefix(name: string): string {
  return `${inject('redisPrefix')}${name}:`
}

/** The same as the variables that pg reads without a connection string. */
export function postgresVariables(): Record<string, string> {
  const url = new URL(postgresUrl())
  return {
    PGHOST: url.hostname,
    PGPORT: url.port,
    PGUSER: decodeURIComponent(url.username),
    PGPASSWORD: decodeURIComponent(url.password),
    PGDATABASE: url.pathname.slice(1),
  }
}
