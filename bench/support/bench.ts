import { type MysqlServer, startMysql } from '../../test/support/mysql-server.js'
import { type PostgresServer, startPostgres } from '../../test/support/postgres-server.js'
import { type RedisServer, startRedis } from '../../test/support/redis-server.js'
import { makeFolder, removeFolder } from '../../test/support/server-process.js'
import type { Table } from './report.js'

/** A measurement that can run alone: `npm run bench -- --only <id>`. */
export interface Group {
  readonly id: string
  measure(bench: Bench): Promise<readonly Table[]>
}

/** The parts that all groups share. */
export interface Bench {
  /** The first for a real run, the second for a quick check that everything works. */
  size<T>(real: T, quick: T): T
  /** Logs the current step. */
  progress(what: string): void
  redis(): Promise<RedisServer>
  /** With the durability of Postgres' own defaults, as users run it. */
  postgres(): Promise<PostgresServer>
  /** A MariaDB, which flushes each commit by default. */
  mysql(): Promise<MysqlServer>
  /** A temporary folder, on the disk of the servers. */
  folder(): Promise<string>
}

/** Calls `work` with servers that start on demand, and stops them. */
export async function withBench(isQuick: boolean, work: (bench: Bench) => Promise<void>): Promise<void> {
  const closing: (() => Promise<void>)[] = []
  const redis = once(async () => closingAtEnd(await startRedis()))
  const postgres = once(async () =>
    closingAtEnd(await startPostgres({ settings: { fsync: 'on', synchronous_commit: 'on' } })),
  )

  const mysql = once(async () => closingAtEnd(await startMysql()))

  function closingAtEnd<Server extends { stop(): Promise<void> }>(server: Server): Server {
    closing.push(server.stop)
    return server
  }

  try {
    await work({
      size: (real, quick) => (isQuick ? quick : real),
      progress: (what) => console.info(`… ${what}`),
      redis,
      postgres,
      mysql,
      async folder() {
        const folder = await makeFolder()
        closing.push(() => removeFolder(folder))
        return folder
      },
    })
  } finally {
    for (const close of closing.reverse()) await close()
  }
}

function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined
  return () => {
    made ??= make()
    return made
  }
}
