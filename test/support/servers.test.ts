import { chmodSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { Redis } from 'ioredis'
import { createConnection } from 'mysql2/promise'
import { Client } from 'pg'
import { afterEach, describe, expect, type ProvidedContext, test, vi } from 'vitest'
import { freePort } from './free-port.js'
import { testMysqlDatabase } from './mysql-database.js'
import { startMysql } from './mysql-server.js'
import {
  mysqlUrl,
  onMysql,
  onOwnMysql,
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

/** The same on a MySQL. */
async function mysql(url: string, statement: string): Promise<unknown> {
  const connection = await createConnection({ uri: url, rowsAsArray: true })
  try {
    return (await connection.query(statement))[0]
  } finally {
    await connection.end()
  }
}

interface Variables {
  readonly REDIS_URL?: string
  readonly DATABASE_URL?: string
  readonly MYSQL_URL?: string
  readonly CI?: string
  readonly PATH?: string
}

/** Runs the setup as Vitest would. */
async function setUp(env: Variables) {
  for (const name of ['REDIS_URL', 'DATABASE_URL', 'MYSQL_URL', 'CI'] as const)
    vi.stubEnv(name, env[name] ?? '')
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

onOwnMysql('a MySQL of a test', () => {
  test('comes back with its data on the same port, and is gone after stop', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'tix-webhooks-'))
    vi.stubEnv('TMPDIR', folder)
    try {
      const server = await startMysql({ settings: { max_connections: 17 } })
      try {
        await mysql(server.url, 'create database kept')
        await mysql(server.url, 'create table kept.numbers (a int primary key)')
        await mysql(server.url, 'insert into kept.numbers values (1)')
        await server.restart()
        await mysql(server.url, 'insert into kept.numbers values (2)')
        await server.kill()
        await expect(mysql(server.url, 'select 1')).rejects.toThrow('ECONNREFUSED')
        await server.restart()
        await mysql(server.url, 'insert into kept.numbers values (3)')
        await server.restart('SIGKILL')
        expect(await mysql(server.url, 'select a from kept.numbers order by a')).toEqual([[1], [2], [3]])
        expect(await mysql(server.url, 'select @@max_connections, @@port')).toEqual([[17, server.port]])
      } finally {
        await server.stop()
      }
      await expect(mysql(server.url, 'select 1')).rejects.toThrow('ECONNREFUSED')
      expect(readdirSync(folder)).toEqual([])
    } finally {
      rmSync(folder, { recursive: true })
    }
  })

  test('starts on a given port, and says so when it is taken', async () => {
    const port = await freePort()
    const server = await startMysql({ port })
    try {
      expect(server.port).toBe(port)
      await expect(startMysql({ port })).rejects.toThrow(/ended with 1 before it was ready:.*already in use/s)
    } finally {
      await server.stop()
    }
  })

  test('says why it cannot start, and leaves no folder behind', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'tix-webhooks-'))
    try {
      vi.stubEnv('TMPDIR', folder)
      await expect(startMysql({ settings: { max_conections: 7 } })).rejects.toThrow(
        /before it was ready:.*max_conections/s,
      )
      expect(readdirSync(folder)).toEqual([])
    } finally {
      rmSync(folder, { recursive: true })
    }
  })

  test('is found beside a PATH without sbin, as that of a user of Debian', async () => {
    const folders = String(process.env.PATH).split(delimiter)
    vi.stubEnv('PATH', folders.filter((folder) => !folder.endsWith('sbin')).join(delimiter))
    await (await startMysql()).stop()
  })
})

test('a MySQL without mariadbd is refused with what to do', async () => {
  vi.stubEnv('PATH', NOWHERE)
  await expect(startMysql()).rejects.toThrow('mariadbd is not installed (apt-get install mariadb-server')
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

onMysql('the MySQL of a run', () => {
  test('has a database of this run', async () => {
    expect(await mysql(mysqlUrl(), 'select database()')).toEqual([
      [expect.stringMatching(/^tix_webhooks_test_[0-9a-f]{12}$/)],
    ])
  })

  let name = ''

  describe('in which a file', () => {
    const database = testMysqlDatabase('create table numbers (a int primary key, b text)')
    name = database.name

    test('has one of its own', async () => {
      expect(await mysql(database.url, 'select database()')).toEqual([[database.name]])
      expect(await database.query('insert into numbers values (?, ?)', [1, 'Zoë 🎫'])).toEqual([])
      expect(await database.query('select * from numbers where a = ?', [1])).toEqual([{ a: 1, b: 'Zoë 🎫' }])
      expect(await database.column('select a from numbers')).toEqual([1])
    })
  })

  test('does not have it afterwards', async () => {
    expect(await mysql(mysqlUrl(), `show databases like '${name}'`)).toEqual([])
  })
})

describe('the setup', () => {
  onRedis('with servers that run already', () => {
    onPostgres('and', () => {
      onMysql('and', () => {
        test('uses them, and leaves nothing of its own in them', async () => {
          const urls = { REDIS_URL: redisUrl(), DATABASE_URL: postgresUrl(), MYSQL_URL: mysqlUrl() }
          const { provided, tearDown } = await setUp(urls)
          const { redisPrefix: prefix, postgresUrl: url, mysqlUrl: ofMysql } = provided
          const database = new URL(String(url)).pathname.slice(1)
          const count = `select count(*)::int from pg_database where datname = '${database}'`
          expect(provided.redisUrl).toBe(urls.REDIS_URL)
          expect(await sql(String(url), 'select current_database()')).toEqual([[database]])
          expect(await mysql(String(ofMysql), 'select database()')).toEqual([[database]])
          await redis(urls.REDIS_URL, 'SET', `${prefix}ours`, '1')
          await redis(urls.REDIS_URL, 'SET', `${redisPrefix('servers')}theirs`, '1')

          await tearDown()
          expect(await sql(urls.DATABASE_URL, count)).toEqual([[0]])
          expect(await mysql(urls.MYSQL_URL, `show databases like '${database}'`)).toEqual([])
          expect(await redis(urls.REDIS_URL, 'EXISTS', `${prefix}ours`)).toBe(0)
          expect(await redis(urls.REDIS_URL, 'EXISTS', `${redisPrefix('servers')}theirs`)).toBe(1)
        })
      })
    })
  })

  onPostgres('without redis-server and mariadbd', () => {
    const SKIPPED = [
      /^SKIPPED: the Redis tests, because redis-server is not on PATH \(apt-get install/,
      /^SKIPPED: the MySQL tests, because mariadbd is not installed \(apt-get install/,
    ]

    test('provides no Redis and no MySQL, and says so once at the end', async () => {
      const { provided, warn, tearDown } = await setUp({ DATABASE_URL: postgresUrl(), PATH: NOWHERE })
      expect(provided).toMatchObject({ redisUrl: null, mysqlUrl: null })
      expect(provided.startable).toEqual({ redis: false, postgres: true, mysql: false })
      expect(provided.postgresUrl).toMatch('postgres')
      expect(warn.mock.calls).toEqual([])
      await tearDown()
      expect(warn.mock.calls).toEqual(SKIPPED.map((skipped) => [expect.stringMatching(skipped)]))
    })

    test('fails with CI=true, and takes its database away', async () => {
      const databases = `select count(*)::int from pg_database where datname like 'tix_webhooks_test_%'`
      const before = await sql(postgresUrl(), databases)
      await expect(setUp({ DATABASE_URL: postgresUrl(), PATH: NOWHERE, CI: 'true' })).rejects.toThrow(
        /^With CI=true nothing may be skipped: the Redis tests, because redis-server is not on PATH.*\nWith CI=true nothing may be skipped: the MySQL tests, because mariadbd is not installed/,
      )
      expect(await sql(postgresUrl(), databases)).toEqual(before)
    })

    onMysql('but with a MySQL that runs already', () => {
      test('provides it, and says that tests cannot start their own', async () => {
        const urls = { DATABASE_URL: postgresUrl(), MYSQL_URL: mysqlUrl() }
        const { provided, warn, tearDown } = await setUp({ ...urls, PATH: NOWHERE })
        expect(provided.mysqlUrl).toMatch(/\/tix_webhooks_test_[0-9a-f]{12}$/)
        expect(provided.startable).toEqual({ redis: false, postgres: true, mysql: false })
        await tearDown()
        expect(warn).toHaveBeenLastCalledWith(
          expect.stringMatching(
            /^SKIPPED: the tests that start a MySQL of their own, because mariadbd is not/,
          ),
        )
      })
    })
  })

  onRedis('with databases that cannot be reached', () => {
    test('fails and names them', async () => {
      const urls = {
        DATABASE_URL: `postgres://postgres@127.0.0.1:${await freePort()}/postgres`,
        MYSQL_URL: `mysql://root@127.0.0.1:${await freePort()}/`,
      }
      await expect(setUp({ REDIS_URL: redisUrl(), ...urls })).rejects.toThrow(
        /^The given Postgres cannot be used: .*ECONNREFUSED.*\nThe given MySQL cannot be used: .*ECONNREFUSED/,
      )
    })
  })
})
