import type { ClaimResult, Purgeable, RemoteStore } from '../../src/index.js'
import { BURST_WAIT_MS, checkedFor, checkOptionNames, STATEMENT_MS } from '../../src/internal.js'
import { checkedStore } from '../lib/store-rules.js'
import { createBursts } from '../sql/bursts.js'
import { createPurger } from '../sql/purge.js'
import { isOfOneRow, mayRefuseTransactions } from './advice.js'
import { keyOfCheck, requireRow, tryOut } from './check.js'
import { answered } from './drivers/answered.js'
import { driverOf, queryOf } from './drivers/choose.js'
import type { Query, StatementResult } from './drivers/driver.js'
import type { PgPool } from './drivers/pg.js'
import type { PostgresJs } from './drivers/postgres-js.js'
import { arrayLiteral, type StoreRequest, type StoreStatements, statementsFor } from './statements.js'
import { tableOf } from './table.js'
import { type Ask, locationIn, locationOf } from './table-location.js'

export interface PostgresStoreOptions {
  /** Its table: a name, or a schema and a name. Default `tix_webhooks`, in the schema in which the first statement finds it. */
  table?: string | undefined
  /** Purges in the background, every so many seconds, from the first claim on. Default: only when you call `purge`. */
  purgeEverySeconds?: number | undefined
}

/** An idempotency store in a table. */
export interface PostgresStore extends RemoteStore, Purgeable {
  /** Creates the table if it is missing. For your deploy; several may run at once. */
  migrate(): Promise<void>
  /** The SQL that `migrate` runs, for tools of your own. */
  readonly ddl: string
}

const COLUMNS = {
  key: 'text COLLATE "C" PRIMARY KEY',
  // 'running', 'completed' or 'released'. Without a CHECK: Postgres reads it again for each statement, at a tenth of its cost.
  state: 'text NOT NULL',
  attempt: 'integer NOT NULL',
  token: 'text NOT NULL',
  lease_until: 'timestamptz NOT NULL',
  expires_at: 'timestamptz NOT NULL',
  // The end of the retention that the claim asked for. The index is on it, not on expires_at, because a completion does not
  // change it: Postgres then writes the new row in place (HOT), with no entry in an index and none to vacuum.
  purge_after: 'timestamptz NOT NULL',
}

/**
 * Remembers handled events in a table of Postgres 12 or newer, for all processes that share it, by the clock of the server.
 * It does not forget by itself: see `purge` and `purgeEverySeconds`.
 *
 * @param pool a `Pool` of pg, or the `sql` of postgres.js
 * @throws TypeError when it is something else, such as a `Client` of pg, or an option is invalid
 * @example
 * ```ts
 * const store = postgresStore(new Pool({ connectionString: process.env.DATABASE_URL }), { purgeEverySeconds: 300 })
 * await store.migrate() // when you deploy
 * tixWebhooks({ secret, on, store, namespace: 'orders' })
 * ```
 */
export function postgresStore(pool: PgPool | PostgresJs, options: PostgresStoreOptions = {}): PostgresStore {
  return checkedFor(postgresStore, () => createStore(pool, options))
}

/** The values of the row that a request has written or found; `undefined` if there is none. */
type Written = readonly unknown[] | undefined

/** The most connections that a store uses, so that the app has the rest of the pool, and the most calls in one statement. */
const LIMITS = { total: 4, perKind: 2, size: 100, waitMs: BURST_WAIT_MS }

function createStore(pool: PgPool | PostgresJs, options: PostgresStoreOptions): PostgresStore {
  options = checkOptionNames(options, ['table', 'purgeEverySeconds'])
  const query = queryOf(pool)
  /** With a limit, also of the time until there is a connection: a statement under way holds up others. */
  const send: Query = (sql, parameters) => answered(STATEMENT_MS, query(sql, parameters))
  const table = tableOf({
    location: locationIn(pool, options.table ?? TABLE),
    columns: COLUMNS,
    purgedBy: 'purge_after',
    migrate: 'store.migrate()',
  })
  const statements = table.byName(statementsFor)
  const ask: Ask = async (statement, parameters) => (await send(statement, parameters)).rows
  const unavailable = (error: unknown): never => {
    throw table.unavailable(error)
  }
  const { start, purge } = createPurger(
    (limit) => table.purge(ask, limit).catch(unavailable),
    options.purgeEverySeconds,
  )

  /** Claims and completes as a delivery does. */
  async function check(): Promise<void> {
    try {
      await tryOut(driverOf(pool), async (ask) => {
        await table.find(ask)
        const request = { key: keyOfCheck(), token: 'check', leaseMs: 1_000, retainMs: 1_000 }
        for (const name of ['claim', 'complete', 'findCompleted'] as const) {
          const [written] = await sendTogether(async (...many) => ({ rows: await ask(...many) }), name, [
            request,
          ])
          requireRow(written !== undefined, table.name)
        }
      })
    } catch (error) {
      // No delivery of a store needs one.
      if (!mayRefuseTransactions(error)) throw error
      await table.check(ask)
    }
  }

  async function sendTogether(
    send: (sql: string, parameters: readonly unknown[]) => Promise<Pick<StatementResult, 'rows'>>,
    name: keyof StoreStatements,
    requests: readonly StoreRequest[],
  ): Promise<readonly Written[]> {
    const { parameters, many } = statements()[name]
    const arrays = parameters.map((parameter) => requests.map((request) => request[parameter]))
    return writtenByMany(await send(many, arrays.map(arrayLiteral)), requests.length)
  }

  const burst = createBursts(LIMITS)

  function burstOf(name: keyof StoreStatements): (request: StoreRequest) => Promise<Written> {
    const call = burst<StoreRequest, Written>({
      async sendOne(request) {
        await table.find(ask)
        const { parameters, one } = statements()[name]
        const values = parameters.map((parameter) => request[parameter])
        return writtenByOne(await send(one, values))
      },
      async sendMany(requests) {
        await table.find(ask)
        return sendTogether(send, name, requests)
      },
      isOfOneRequest: isOfOneRow,
    })
    return (request) => call(request).catch(unavailable)
  }

  /** By the count: a returned row would make a completion a tenth more expensive. */
  function writtenByOne({ rows: [row], count }: StatementResult): Written {
    if (typeof count !== 'number') throw table.unexpectedRows()
    return count === 0 ? undefined : Object.values(row ?? {})
  }

  function writtenByMany({ rows }: Pick<StatementResult, 'rows'>, length: number): readonly Written[] {
    const written = new Array<Written>(length).fill(undefined)
    for (const row of rows) {
      // By position, because clients can rename columns.
      const [number, ...values] = Object.values(row)
      const index = numberIn(number) - 1
      if (!(index in written) || written[index] !== undefined) throw table.unexpectedRows()
      written[index] = values
    }
    return written
  }

  /** It reads no text, which a client may be set to change. */
  function readClaim(written: Written): ClaimResult {
    const [isOurs, isCompleted, isReleased, attempt, leftMs] = written ?? []
    if ([isOurs, isCompleted, isReleased].some((value) => typeof value !== 'boolean'))
      throw table.unexpectedRows()
    if (isOurs) return { status: 'claimed', attempt: numberIn(attempt) }
    if (isCompleted) return { status: 'completed' }
    // Released by the token of this claim: nothing runs.
    return { status: 'in_flight', retryAfterMs: isReleased ? 1 : Math.max(1, numberIn(leftMs)) }
  }

  /** Clients can be set to return numbers as text. */
  function numberIn(value: unknown): number {
    const number = value === null || value === '' ? Number.NaN : Number(value)
    if (!Number.isFinite(number)) throw table.unexpectedRows()
    return number
  }

  const claims = burstOf('claim')
  const renewals = burstOf('renew')
  const completions = burstOf('complete')
  const releases = burstOf('release')
  const lookUps = burstOf('findCompleted')

  return checkedStore<PostgresStore>({
    async claim({ key, token, leaseMs, retainMs }) {
      start()
      return readClaim(await claims({ key, token, leaseMs, retainMs }))
    },
    renew: async ({ key, token }, leaseMs) => (await renewals({ key, token, leaseMs })) !== undefined,
    complete: async ({ key, token }, retainMs) => (await completions({ key, token, retainMs })) !== undefined,
    release: async ({ key, token }) => (await releases({ key, token })) !== undefined,
    isHandled: async (key) => (await lookUps({ key })) !== undefined,
    // Not among the calls of deliveries: a probe asks for the database, not for the length of a queue.
    check: () => check().catch(unavailable),
    purge,
    migrate: () => table.migrate(driverOf(pool)),
    ddl: table.ddl,
  })
}

const TABLE = 'tix_webhooks'

/** The SQL that creates the table, by its default name. */
export const storeDdl: string = tableOf({
  location: locationOf(TABLE),
  columns: COLUMNS,
  purgedBy: 'purge_after',
  migrate: '',
}).ddl
