import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { createConnection } from 'mysql2/promise'
import { Client } from 'pg'
import { afterEach, expect, type ProvidedContext, test, vi } from 'vitest'
import { freePort } from './free-port.js'
import { mysqlUrl, onMysql, onPostgres, onRedis, postgresUrl, redisPrefix, redisUrl } from './on-servers.js'
import setup from './servers.js'

/** Runs the setup as Vitest would. */
async function setUp(env: Readonly<Record<string, string>>) {
  for (const name of ['REDIS_URL', 'DATABASE_URL', 'MYSQL_URL', 'CI']) vi.stubEnv(name, '')
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value)
  const provided = {} as Record<keyof ProvidedContext, unknown>
  const warn = vi.spyOn(console, 'warn').mockReturnValue()
  const tearDown = await setup({
    provide(key, value) {
      provided[key] = value
    },
  })
  return { ...(provided as ProvidedContext), warn, tearDown }
}

/** The databases of all runs. */
async function databases(): Promise<unknown[]> {
  const client = new Client(postgresUrl())
  await client.connect()
  const { rows } = await client.query(
    "select datname from pg_database where datname like 'tix_webhooks_test_%'",
  )
  await client.end()
  const connection = await createConnection(mysqlUrl())
  const [found] = await connection.query("show databases like 'tix_webhooks_test_%'")
  await connection.end()
  return [rows, found]
}

const PATH = join(tmpdir(), 'nowhere')

afterEach(() => {
  vi.unstubAllEnvs()
  vi.restoreAllMocks()
})

onRedis('the setup', () => {
  onPostgres('with Postgres', () => {
    onMysql('and MySQL', () => {
      test('uses servers that run already, and leaves nothing of its own in them', async () => {
        const urls = { REDIS_URL: redisUrl(), DATABASE_URL: postgresUrl(), MYSQL_URL: mysqlUrl() }
        const before = await databases()
        const run = await setUp(urls)
        expect(run.urls.redis).toBe(urls.REDIS_URL)
        expect(await databases()).not.toEqual(before)
        const redis = new Redis(urls.REDIS_URL)
        const theirs = `${redisPrefix('servers')}theirs`
        await redis.mset(`${run.redisPrefix}ours`, '1', theirs, '1')
        await run.tearDown()
        expect(await redis.mget(`${run.redisPrefix}ours`, theirs)).toEqual([null, '1'])
        expect(await databases()).toEqual(before)
        redis.disconnect()
      })

      test('says once at the end what was skipped because no server could be started', async () => {
        const run = await setUp({ DATABASE_URL: postgresUrl(), MYSQL_URL: mysqlUrl(), PATH })
        expect(run.urls).toMatchObject({ redis: null, mysql: expect.stringMatching(/^mysql:/) })
        expect(run.startable).toEqual({ redis: false, postgres: true, mysql: false })
        expect(run.warn.mock.calls).toEqual([])
        await run.tearDown()
        expect(run.warn.mock.calls.flat()).toEqual([
          expect.stringMatching(/^SKIPPED: the Redis tests, because redis-server is not on PATH \(apt-get/),
          expect.stringMatching(
            /^SKIPPED: the tests that start a MySQL of their own, because mariadbd is not/,
          ),
        ])
      })

      test('fails with CI=true instead, and takes its databases away', async () => {
        const before = await databases()
        await expect(setUp({ DATABASE_URL: postgresUrl(), PATH, CI: 'true' })).rejects.toThrow(
          /^With CI=true nothing may be skipped: the Redis tests, .*\nWith CI=true nothing may be skipped: the MySQL tests/,
        )
        expect(await databases()).toEqual(before)
      })

      test('fails if a given server cannot be reached', async () => {
        const MYSQL_URL = `mysql://root@127.0.0.1:${await freePort()}/`
        await expect(
          setUp({ REDIS_URL: redisUrl(), DATABASE_URL: postgresUrl(), MYSQL_URL }),
        ).rejects.toThrow(/^The given MySQL cannot be used: .*ECONNREFUSED/)
      })
    })
  })
})
