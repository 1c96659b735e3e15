import type { Redis } from 'ioredis'
import type { Sql, TransactionSql } from 'postgres'
import { postgresInbox, postgresStore } from 'tix-webhooks/postgres'
import { redisStore } from 'tix-webhooks/redis'
import type { Backends } from '../../app/backends.js'
import { postgresHarness, ROWS } from './postgres.js'
import { redisHarness } from './redis.js'

/** Its clients, in the types of the libraries that they resemble. */
declare const Bun: {
  SQL: new (url: string) => Sql
  RedisClient: new (url: string) => Redis & { send(command: string, args: string[]): Promise<unknown> }
}

/** Bun's own clients of Postgres and Redis. */
export function bunBackends({ DATABASE_URL, REDIS_URL }: NodeJS.ProcessEnv): Backends {
  if (DATABASE_URL === undefined || REDIS_URL === undefined) return {}
  const sql = new Bun.SQL(DATABASE_URL)
  const redis = new Bun.RedisClient(REDIS_URL)
  return {
    'bun-sql': {
      harness: postgresHarness(
        () => sql,
        (client, text) => client.unsafe(text),
      ),
      options: { store: postgresStore(sql) },
    },
    'bun-sql-inbox': {
      options: { inbox: postgresInbox(sql) },
      write: (tx: TransactionSql, id) => tx.unsafe(`INSERT INTO ${ROWS} VALUES ($1)`, [id]),
      rows: async () => (await sql.unsafe<{ id: string }[]>(`SELECT id FROM ${ROWS}`)).map(({ id }) => id),
    },
    'bun-redis': {
      harness: redisHarness(
        () => redis,
        (client, script, args) => client.send('EVAL', [script, '0', ...args]),
      ),
      options: { store: redisStore(redis) },
    },
  }
}
