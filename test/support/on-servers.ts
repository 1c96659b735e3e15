import { describe, inject } from 'vitest'

const { redis, postgres, mysql } = inject('startable')

/** `describe` for tests on the run's Redis: skipped if there is none. */
export const onRedis = describe.skipIf(inject('redisUrl') === null)

/** `describe` for tests on the run's Postgres: skipped if there is none. */
export const onPostgres = describe.skipIf(inject('postgresUrl') === null)

/** `describe` for tests on the run's MySQL: skipped if there is none. */
export const onMysql = describe.skipIf(inject('mysqlUrl') === null)

/** `describe` for tests that call `startRedis`: skipped if it cannot. */
export const onOwnRedis = describe.skipIf(!redis)

/** `describe` for tests that call `startPostgres`: skipped if it cannot. */
export const onOwnPostgres = describe.skipIf(!postgres)

/** `describe` for tests that call `startMysql`: skipped if it cannot. */
export const onOwnMysql = describe.skipIf(!mysql)

/** The run's Redis. For use in hooks and tests: the body of a `describe` runs even if it is skipped. */
export function redisUrl(): string {
  return known(inject('redisUrl'), 'redisUrl')
}

/** A unique key prefix for a test file, in the run's Redis. */
export function redisPrefix(name: string): string {
  return `${inject('redisPrefix')}${name}:`
}

/** The run's Postgres database. For use in hooks and tests: the body of a `describe` runs even if it is skipped. */
export function postgresUrl(): string {
  return known(inject('postgresUrl'), 'postgresUrl')
}

/** The run's database on MySQL or MariaDB. For use in hooks and tests: the body of a `describe` runs even if it is skipped. */
export function mysqlUrl(): string {
  return known(inject('mysqlUrl'), 'mysqlUrl')
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

function known(url: string | null, name: string): string {
  if (url === null) throw new Error(`There is no server: call ${name}() in a hook or a test`)
  return url
}
