import type { ClaimResult, Purgeable, RemoteStore } from '../../src/index.js'
import { BURST_WAIT_MS, checkedFor, checkOptionNames } from '../../src/internal.js'
import { checkedStore } from '../lib/store-rules.js'
import { createBursts } from '../sql/bursts.js'
import { bytesIn } from '../sql/kept-text.js'
import { createPurger } from '../sql/purge.js'
import { unexpectedRows } from '../sql/unexpected-rows.js'
import { isForbidden, isOfOneRow, isWrongServer } from './advice.js'
import { retryConflicts } from './conflicts.js'
import { checkAutocommit, databaseOf } from './database.js'
import { poolOf } from './drivers/choose.js'
import type { MysqlPool } from './drivers/connection.js'
import type { Answer, Ask, Row } from './drivers/driver.js'
import {
  ANSWER,
  DONE,
  findingCompleted,
  reading,
  STORE_COLUMNS,
  type StoredRecord,
  type StoreRequest,
  type StoreStatements,
  statementsFor,
  touchingCompleted,
} from './statements.js'
import { pastRetention, type Table, tableOf } from './table.js'

export interface MysqlStoreOptions {
  /** Its table: a name, or a database and a name. Default `tix_webhooks`, in the database of the pool. */
  table?: string | undefined
  /** Purges in the background, every so many seconds, from the first claim on. Default: only when you call `purge`. */
  purgeEverySeconds?: number | undefined
}

/** An idempotency store in a table. */
export interface MysqlStore extends RemoteStore, Purgeable {
  /** Creates the table if it is missing. For your deploy; several may run at once. */
  migrate(): Promise<void>
  /** The SQL that `migrate` runs, for tools of your own. */
  readonly ddl: string
}

/**
 * Remembers handled events in a table of MySQL 8.0, MariaDB 10.6 or newer, for all processes that share it, by the clock of the server.
 * It does not forget by itself: see `purge` and `purgeEverySeconds`.
 *
 * @param pool a pool of `mysql2/promise` or of `mariadb`
 * @throws TypeError when it is something else, such as a single connection, or an option is invalid
 * @example
 * ```ts
 * const store = mysqlStore(mysql.createPool(process.env.DATABASE_URL), { purgeEverySeconds: 300 })
 * await store.migrate() // when you deploy
 * tixWebhooks({ secret, on, store, namespace: 'orders' })
 * ```
 */
export function mysqlStore(pool: MysqlPool, options: MysqlStoreOptions = {}): MysqlStore {
  return checkedFor(mysqlStore, () => createStore(pool, options))
}

/** The most connections that a store uses, so that the app has the rest of the pool, and the most calls in one statement. */
const LIMITS = { total: 4, perKind: 2, size: 100, waitMs: BURST_WAIT_MS }

function createStore(pool: MysqlPool, options: MysqlStoreOptions): MysqlStore {
  options = checkOptionNames(options, ['table', 'purgeEverySeconds'])
  const driver = poolOf(pool)
  const table = storeTable(pool, options.table)
  const unavailable = (error: unknown): never => {
    throw table.unavailable(error)
  }
  let isChecked = false

  const ask: Ask = (sql) => retryConflicts(() => (driver.ask as Ask)(sql))

  /** The statements, by the name of the table as it is known after the first question. */
  async function statements(): Promise<StoreStatements> {
    if (!isChecked) await checkAutocommit(ask)
    isChecked = true
    await table.find(ask)
    return statementsFor(table.name)
  }

  const { start, purge } = createPurger(deleteExpired, options.purgeEverySeconds)

  function deleteExpired(limit: number): Promise<number> {
    return retryConflicts(() => inTransaction((asked) => table.purge(asked, limit))).catch(unavailable)
  }

  function inTransaction<T>(work: (ask: Ask) => Promise<T>): Promise<T> {
    return driver.transaction(async (tx) => {
      const asked: Ask = (sql) => driver.query(tx, sql)
      await table.find(asked)
      return work(asked)
    })
  }

  /** For a write and the query for its result, between which another call could change it. */
  const inOneTransaction = <T>(work: (ask: Ask) => Promise<T>): Promise<T> =>
    retryConflicts(() => inTransaction(work))

  const burst = createBursts(LIMITS)

  /** @param readOne of the answer to a statement for one request, @param readMany of the record that several have left, if there is one */
  function burstOf<T>(
    name: keyof StoreStatements,
    readOne: (answer: number, count: number) => T,
    readMany: (record: StoredRecord | undefined, isDone: boolean) => T,
  ): (request: StoreRequest) => Promise<T> {
    const call = burst<StoreRequest, T>({
      async sendOne(request) {
        const { one } = (await statements())[name]
        const { count, id } = writtenBy(await ask(one(request)))
        return readOne(id, count)
      },
      async sendMany(requests) {
        const { many, isDone } = (await statements())[name]
        const records = await inOneTransaction(async (asked) => {
          await asked(many(requests))
          return recordsIn(
            await asked(
              reading(
                table.name,
                requests.map(({ key }) => key),
              ),
            ),
          )
        })
        return requests.map((request) => {
          const record = records.get(request.key)
          return readMany(record, record !== undefined && isDone(record, request))
        })
      },
      isOfOneRequest: isOfOneRow,
    })
    return (request) => call(request).catch(unavailable)
  }

  const claims = burstOf<ClaimResult>('claim', claimIn, (record, isOurs) => {
    if (record === undefined) return inFlight(1)
    if (isOurs) return { status: 'claimed', attempt: record.attempt }
    if (record.state === 'completed') return { status: 'completed' }
    return inFlight(record.state === 'released' ? 1 : record.leftMs)
  })
  const renewals = burstOf('renew', isDone, (_, done) => done)
  const releases = burstOf('release', isDone, (_, done) => done)
  // No answer: it was absent.
  const completions = burstOf(
    'complete',
    (answer) => answer === 0 || isDone(answer),
    (_, done) => done,
  )
  const lookUps = burst<{ readonly key: string }, boolean>({
    sendOne: async ({ key }) => (await completed([key])).has(key),
    async sendMany(requests) {
      const found = await completed(requests.map(({ key }) => key))
      return requests.map(({ key }) => found.has(key))
    },
    isOfOneRequest: () => false,
  })

  async function completed(keys: readonly string[]): Promise<ReadonlySet<string>> {
    await statements()
    const { rows } = await driver.reading((asked) => asked(findingCompleted(table.name, keys)))
    const found = rows.map(([key]) => textIn(key))
    if (found.length > 0) {
      await ask(touchingCompleted(table.name, found)).catch((error) => {
        // One that may only read, such as in a move from another store, cannot wait until they are on disk.
        if (!isForbidden(error) && !isWrongServer(error)) throw error
      })
    }
    return new Set(found)
  }

  /** The statements of deliveries, for events that nobody has, and of which nothing is kept. */
  async function check(): Promise<void> {
    const made = await statements()
    const first = { key: `check/${crypto.randomUUID()}`, token: 'check', leaseMs: 1, retainMs: 1 }
    const requests = [first, { ...first, key: `${first.key}/2` }]
    const keys = requests.map(({ key }) => key)
    const work = async (asked: Ask): Promise<void> => {
      for (const { many } of [made.claim, made.renew, made.release, made.complete])
        await asked(many(requests))
      // Those for one call are other statements.
      for (const { one } of [made.renew, made.release]) await asked(one(first))
      await asked(touchingCompleted(table.name, keys))
      await asked(reading(table.name, keys))
      await table.check(asked)
    }
    await retryConflicts(() =>
      driver.transaction(
        (tx) => work((sql) => driver.query(tx, sql)),
        () => ({ commits: false }),
      ),
    )
    await driver.reading((asked) => asked(findingCompleted(table.name, keys)))
  }

  return checkedStore<MysqlStore>({
    async claim({ key, token, leaseMs, retainMs }) {
      start()
      return claims({ key, token, leaseMs, retainMs })
    },
    renew: ({ key, token }, leaseMs) => renewals({ key, token, leaseMs }),
    complete: ({ key, token }, retainMs) => completions({ key, token, retainMs }),
    release: ({ key, token }) => releases({ key, token }),
    isHandled: (key) => lookUps({ key }).catch(unavailable),
    // Not among the calls of deliveries: a probe asks for the database, not for the length of a queue.
    check: () => check().catch(unavailable),
    purge,
    async migrate() {
      await table.migrate(driver)
      // The user of a migration may not have the rights of the app's.
      await check().catch((error) => {
        if (!isForbidden(error)) unavailable(error)
      })
    },
    ddl: table.ddl,
  })
}

function isDone(answer: number): boolean {
  return answer === DONE
}

function claimIn(answer: number): ClaimResult {
  const number = Math.floor(answer / 4)
  switch (answer % 4) {
    case ANSWER.claimed:
      return { status: 'claimed', attempt: Math.max(1, number) }
    case ANSWER.completed:
      return { status: 'completed' }
    case ANSWER.released:
      return inFlight(1)
    default:
      return inFlight(number)
  }
}

function inFlight(retryAfterMs: number): ClaimResult {
  return { status: 'in_flight', retryAfterMs: Math.max(1, retryAfterMs) }
}

function writtenBy({ written }: Answer): NonNullable<Answer['written']> {
  if (written === undefined || !Number.isFinite(written.count) || !Number.isFinite(written.id))
    throw unexpectedRows()
  return written
}

function recordsIn({ rows }: Answer): Map<string, StoredRecord> {
  return new Map(rows.map((row) => recordIn(row)))
}

function recordIn([key, token, state, attempt, leftMs]: Row): [string, StoredRecord] {
  const stateNow = STATES[Number(state) - 1]
  if (stateNow === undefined) throw unexpectedRows()
  return [
    textIn(key),
    { token: textIn(token), state: stateNow, attempt: Number(attempt), leftMs: Number(leftMs) },
  ]
}

/** In the order of the column. */
const STATES = ['running', 'completed', 'released'] as const

function textIn(hex: unknown): string {
  return UTF8.decode(bytesIn(hex))
}

const UTF8 = new TextDecoder()

function storeTable(pool: object, given = 'tix_webhooks'): Table {
  return tableOf({
    database: databaseOf(pool),
    given,
    columns: STORE_COLUMNS,
    indexes: { purge_after: '(purge_after)' },
    expired: pastRetention('purge_after'),
    migrate: 'store.migrate()',
  })
}

/** The SQL that creates the table, by its default name. */
export function storeDdl(): string {
  return storeTable({}).ddl
}
