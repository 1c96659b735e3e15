import { Pool } from 'pg'
import { mysqlStore } from 'tix-webhooks/mysql'
import { postgresStore } from 'tix-webhooks/postgres'
import { type SqliteTransaction, sqliteInbox, sqliteStore } from 'tix-webhooks/sqlite'
import type { InboxHarness } from 'tix-webhooks/testing'
import { onTestFinished } from 'vitest'
import { createMysql2, type MysqlInboxClient, type OpenMysqlClient } from './mysql-clients.js'
import type { TestMysqlDatabase } from './mysql-database.js'
import type { InboxClient, OpenClient } from './postgres-clients.js'
import type { TestDatabase } from './postgres-database.js'
import { shiftMysql, shiftPostgres } from './shift-deadlines.js'
import { type TestDatabase as SqliteDatabase, valuesOf } from './sqlite-open.js'
import type { TcpProxy } from './tcp-proxy.js'

/** The default table of stores and inboxes. */
const EVENTS = 'tix_webhooks_events'

/** The tables of both harnesses. */
export const EFFECTS = 'CREATE TABLE effects (id text)'

/** A transaction of a library, and the client that it is of. */
interface LibraryTransaction<Client = OpenClient> {
  readonly client: Client
  readonly tx: unknown
}

/** The common part of both databases, through a proxy that cuts their connections. */
function overProxy<Client extends OpenClient | OpenMysqlClient>(
  open: (connections: number, port: number) => Client,
  proxy: TcpProxy,
  commit: RegExp,
): Pick<InboxHarness<LibraryTransaction<Client>>, 'create' | 'write' | 'cut'> {
  const isCommit = (chunk: Buffer): boolean => commit.test(chunk.toString('latin1'))
  return {
    async create({ connections: most }) {
      const client = open(most, proxy.port)
      // A purge in the background would take the cut for its own COMMIT.
      const { once, ...inbox } = client.inbox({ purgeEverySeconds: false })
      return { ...inbox, once: (request, work) => once(request, (tx, run) => work({ client, tx }, run)) }
    },
    write: ({ client, tx }, id) => client.run(tx, `INSERT INTO effects VALUES ('${id}')`),
    async cut(when) {
      if (when === 'now') proxy.cut()
      else if (when === 'before commit') void proxy.cutBeforeRequest(isCommit)
      else void proxy.cutAfterRequest(isCommit)
    },
  }
}

/** `postgresInbox` over a library, through the proxy. It closes them when the test ends. */
export function postgresHarness(
  library: InboxClient,
  database: TestDatabase,
  proxy: TcpProxy,
): InboxHarness<LibraryTransaction> {
  return {
    ...overProxy((max, port) => library.open(database, { max, port }), proxy, /\bcommit\b/i),
    read: () => database.column('SELECT id FROM effects') as Promise<string[]>,
    fail: ({ client, tx }) => client.run(tx, 'SELECT 1 / 0'),
    nest: ({ client, tx }, work) => client.savepoint(tx, (inner) => work({ client, tx: inner })),
    advance: (ms) => database.query(shiftPostgres(EVENTS, ms)),
    async store() {
      const pool = new Pool({ connectionString: database.url, options: database.settings(), max: 2 })
      onTestFinished(() => pool.end())
      return postgresStore(pool)
    },
  }
}

/** The tables of `mysqlHarness`. */
export const MYSQL_EFFECTS: readonly string[] = [
  'CREATE TABLE effects (id TEXT)',
  'CREATE TABLE contended (id INT AUTO_INCREMENT PRIMARY KEY, n INT NOT NULL DEFAULT 0)',
]

/** `mysqlInbox` over a library, through the proxy. It closes them when the test ends. */
export function mysqlHarness(
  library: MysqlInboxClient,
  database: TestMysqlDatabase,
  proxy: TcpProxy,
): InboxHarness<LibraryTransaction<OpenMysqlClient>> {
  return {
    ...overProxy(
      (connectionLimit, port) => library.open(database, { connectionLimit, port }),
      proxy,
      // Setting autocommit commits.
      /\bautocommit = 1\b|\bcommit\b/i,
    ),
    read: () => database.column('SELECT id FROM effects') as Promise<string[]>,
    fail: ({ client, tx }) => deadlock(database, (statement) => client.run(tx, statement)),
    async nest({ client, tx }, work) {
      await client.run(tx, 'SAVEPOINT mine')
      await work({ client, tx })
      await client.run(tx, 'RELEASE SAVEPOINT mine')
    },
    advance: (ms) => database.query(shiftMysql(EVENTS, ms)),
    async store() {
      const pool = createMysql2(database.url, { connectionLimit: 2 })
      onTestFinished(() => pool.end())
      return mysqlStore(pool, { besideInbox: true })
    },
  }
}

/** Has the server roll back the whole transaction, which no other failed statement does: that with fewer writes is the victim. */
export async function deadlock(
  database: TestMysqlDatabase,
  run: (statement: string) => Promise<unknown>,
): Promise<void> {
  await using other = await database.connect()
  const touch = (id: unknown): string => `UPDATE contended SET n = n + 1 WHERE id = ${id}`
  await other.query('INSERT INTO contended (n) VALUES (0)')
  const [ours] = Object.values((await other.query('SELECT LAST_INSERT_ID()'))[0] ?? {})
  await other.query('START TRANSACTION')
  await other.query(`INSERT INTO contended (n) VALUES ${Array(100).fill('(0)').join()}`)
  const [theirs] = Object.values((await other.query('SELECT LAST_INSERT_ID()'))[0] ?? {})
  await run(touch(ours))
  const waiting = other.query(touch(ours))
  try {
    await run(touch(theirs))
  } finally {
    await waiting
    await other.query('ROLLBACK')
  }
}

/** The writes of a case, until the one call at the end that commits them. */
interface Collected {
  readonly ids: string[]
  fail(): void
}

/** `sqliteInbox` on a database that has its tables. */
export function sqliteHarness(db: SqliteDatabase): InboxHarness<Collected> {
  let now = Date.now()
  return {
    async create() {
      const { once, ...inbox } = sqliteInbox(db, { now: () => now })
      return {
        ...inbox,
        once: (request, work) =>
          once(request, async (tx: SqliteTransaction<SqliteDatabase>, run) => {
            const ids: string[] = []
            const fail = (): void => tx.commit(() => void db.exec('INSERT INTO nowhere VALUES (1)'))
            await work({ ids, fail }, run)
            tx.commit(() => {
              for (const id of ids) db.prepare('INSERT INTO effects VALUES (?)').run(id)
            })
          }),
      }
    },
    write: async ({ ids }, id) => ids.push(id),
    read: async () => valuesOf(db, 'SELECT id FROM effects') as string[],
    fail: async ({ fail }) => fail(),
    nest: null,
    cut: null,
    async advance(ms) {
      now += ms
    },
    store: async () => sqliteStore(db, { now: () => now }),
  }
}
