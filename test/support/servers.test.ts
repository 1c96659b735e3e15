import { chmodSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { Client } from 'pg'
import { afterEach, describe, expect, type ProvidedContext, test, vi } from 'vitest'
import { freePort } from './free-port.js'
import {
  onOwnPostgres,
  onOwnRedis,
  onPostgres,
  onRedis,
  postgresUrl,
  redisPrefix,
  redisUrl,
} from './on-servers.js'
import { startPostgres } from './postgres-server.js'
import { startRedis } from './redis-server.js'
import setup from './servers.js'

/** Runs one command on a new connection. */
async function redis(url: string, command: string, ...args: string[]): Promise<unknown> {
  const client = new Redis(url, { lazyConnect: true, retryStrategy: () => null })
  client.on('error', () => {})
  try {
    await client.connect()
    return await client.call(command, ...args)
  } finally {
    client.disconnect()
  }
}

/** Runs one statement on a new connection. */
async function sql(url: string, statement: string): Promise<unknown[][]> {
  const client = new Client(url)
  await client.connect()
  try {
    return (await client.query({ text: statement, rowMode: 'array' })).rows
  } finally {
    await client.end()
  }
}

/** Runs the setup as Vitest would. */
async function setUp(env: { REDIS_URL?: string; DATABASE_URL?: string; CI?: string; PATH?: string }) {
  for (const name of ['REDIS_URL', 'DATABASE_URL', 'CI'] as const) vi.stubEnv(name, env[name] ?? '')
  if (env.PATH !== undefined) vi.stubEnv('PATH', env.PATH)
  const provided: Partial<Record<keyof ProvidedContext, unknown>> = {}
  const warn = vi.spyOn(console, 'warn').mockReturnValue()
  const tearDown = await setup({
    provide(key, value) {
      provided[key] = value
    },
  })
  return { provided, warn, tearDown }
}

const NOWHERE = join(tmpdir(), 'nowhere')

afterEach(() => {
  vi.unstubAllEnvs()
  vi.restoreAllMocks()
})

onOwnRedis('a Redis of a test', () => {
  test('comes back with its data on the same port, and is gone after stop', async () => {
    const server = await startRedis({ args: ['--appendonly', 'yes'] })
    try {
      await redis(server.url, 'SET', 'a', '1')
      await server.restart()
      await redis(server.url, 'APPEND', 'a', '2')
      await server.kill()
      await expect(redis(server.url, 'PING')).rejects.toThrow('closed')
      await server.restart()
      expect(await redis(server.url, 'GET', 'a')).toBe('12')
    } finally {
      await server.stop()
    }
    await expect(redis(server.url, 'PING')).rejects.toThrow('closed')
  })

  test('keeps nothing on disk by default', async () => {
    const server = await startRedis()
    try {
      await redis(server.url, 'SET', 'a', '1')
      await server.restart()
      expect(await redis(server.url, 'GET', 'a')).toBe(null)
    } finally {
      await server.stop()
    }
  })

  test('starts on a given port, and says so when it is taken', async () => {
    const port = await freePort()
    const server = await startRedis({ port })
    try {
      expect(server.port).toBe(port)
      await expect(startRedis({ port })).rejects.toThrow(/ended with 1 before it was ready:.*already in use/s)
    } finally {
      await server.stop()
    }
  })
})

test('a Redis without redis-server on PATH is refused with what to do', async () => {
  vi.stubEnv('PATH', NOWHERE)
  await expect(startRedis()).rejects.toThrow('redis-server is not on PATH (apt-get install redis-server')
})

onOwnPostgres('a Postgres of a test', () => {
  test('comes back with its data after a restart', async () => {
    const server = await startPostgres({ settings: { max_connections: 7 } })
    try {
      await sql(server.url, 'create table kept as select 1 as a')
      await server.restart('immediate')
      await sql(server.url, 'insert into kept values (2)')
      await server.kill('SIGKILL')
      await expect(sql(server.url, 'select 1')).rejects.toThrow('ECONNREFUSED')
      await server.restart()
      expect(await sql(server.url, 'select a from kept order by a')).toEqual([[1], [2]])
      expect(await sql(server.url, 'show max_connections')).toEqual([['7']])
    } finally {
      await server.stop()
    }
    await expect(sql(server.url, 'select 1')).rejects.toThrow('ECONNREFUSED')
  })

  test('says why it cannot start, and leaves no folder behind', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'tix-webhooks-'))
    try {
      chmodSync(folder, 0o755)
      vi.stubEnv('TMPDIR', folder)
      await expect(startPostgres({ settings: { max_connections: 'many' } })).rejects.toThrow(
        /before it was ready:.*max_connections/s,
      )
      expect(readdirSync(folder)).toEqual([])
    } finally {
      rmSync(folder, { recursive: true })
    }
  })
})

onRedis('the Redis of a run', () => {
  test('answers', async () => {
    const key = `${redisPrefix('servers')}answers`
    await redis(redisUrl(), 'SET', key, 'yes')
    expect(await redis(redisUrl(), 'GET', key)).toBe('yes')
  })
})

onPostgres('the Postgres of a run', () => {
  test('has a database of this run', async () => {
    expect(await sql(postgresUrl(), 'select current_database()')).toEqual([
      [expect.stringMatching(/^tix_webhooks_test_[0-9a-f]{12}$/)],
    ])
  })
})

describe('the setup', () => {
  onRedis('with servers that run already', () => {
    onPostgres('and', () => {
      test('uses them, and leaves nothing of its own in them', async () => {
        const urls = { REDIS_URL: redisUrl(), DATABASE_URL: postgresUrl() }
        const { provided, tearDown } = await setUp(urls)
        const { redisPrefix: prefix, postgresUrl: url } = provided
        const database = new URL(String(url)).pathname.slice(1)
        const count = `select count(*)::int from pg_database where datname = '${database}'`
        expect(provided.redisUrl).toBe(urls.REDIS_URL)
        expect(await sql(String(url), 'select current_database()')).toEqual([[database]])
        await redis(urls.REDIS_URL, 'SET', `${prefix}ours`, '1')
        await redis(urls.REDIS_URL, 'SET', `${redisPrefix('servers')}theirs`, '1')

        await tearDown()
        expect(await sql(urls.DATABASE_URL, count)).toEqual([[0]])
        expect(await redis(urls.REDIS_URL, 'EXISTS', `${prefix}ours`)).toBe(0)
        expect(await redis(urls.REDIS_URL, 'EXISTS', `${redisPrefix('servers')}theirs`)).toBe(1)
      })
    })
  })

  onPostgres('without redis-server on PATH', () => {
    const SKIPPED = /^SKIPPED: the Redis tests, because redis-server is not on PATH \(apt-get install/

    test('provides no Redis, and says so once at the end', async () => {
      const { provided, warn, tearDown } = await setUp({ DATABASE_URL: postgresUrl(), PATH: NOWHERE })
      expect(provided).toMatchObject({ redisUrl: null, startable: { redis: false } })
      expect(provided.postgresUrl).toMatch('postgres')
      expect(warn.mock.calls).toEqual([])
      await tearDown()
      expect(warn.mock.calls).toEqual([[expect.stringMatching(SKIPPED)]])
    })

    test('fails with CI=true, and takes its database away', async () => {
      const databases = `select count(*)::int from pg_database where datname like 'tix_webhooks_test_%'`
      const before = await sql(postgresUrl(), databases)
      await expect(setUp({ DATABASE_URL: postgresUrl(), PATH: NOWHERE, CI: 'true' })).rejects.toThrow(
        /^With CI=true nothing may be skipped: the Redis tests, because redis-server is not on PATH/,
      )
      expect(await sql(postgresUrl(), databases)).toEqual(before)
    })
  })

  onRedis('with a database that cannot be reached', () => {
    test('fails and names it', async () => {
      const url = `postgres://postgres@127.0.0.1:${await freePort()}/postgres`
      await expect(setUp({ REDIS_URL: redisUrl(), DATABASE_URL: url })).rejects.toThrow(
        /^The given Postgres cannot be used: .*ECONNREFUSED/,
      )
    })
  })
})
