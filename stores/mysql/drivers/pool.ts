import { StoreError } from '../../../src/index.js'
import { COMMIT_MS, ROLLBACK_MS, STATEMENT_MS, within } from '../../../src/internal.js'
import { handedBy, NOT_HANDED } from '../../sql/handed-transaction.js'
import { type HandlerScope, handedClient, handlerScope } from '../../sql/handler-scope.js'
import { nextTurn } from '../../sql/lost.js'
import { hasMethod } from '../../sql/not-a-pool.js'
import { hasEnded, isWrongServer, NO_AUTOCOMMIT } from '../advice.js'
import { answerOf } from './answer.js'
import type { MysqlConnection, MysqlPool } from './connection.js'
import {
  type Answer,
  alwaysCommits,
  CHECK_MARK,
  type CheckedDriver,
  type Ending,
  limitIdle,
  NO_AUTOCOMMIT_KEPT,
  READ_COMMITTED,
  RESTORE_AUTOCOMMIT,
  RESTORE_IDLE,
  ROLLBACK,
} from './driver.js'
import { CONNECTION_RULES } from './handler-connection.js'

export function isMysqlPool(pool: unknown): pool is MysqlPool {
  if (!hasMethod(pool, 'getConnection') || !hasMethod(pool, 'query') || hasMethod(pool, 'promise'))
    return false
  // That of a pool with callbacks has one.
  return (pool as { getConnection: { length: number } }).getConnection.length === 0
}

/** @param as converts a connection to the transaction that handlers get */
export function poolDriver<Handed>(
  pool: MysqlPool,
  as?: (connection: MysqlConnection) => Handed,
): CheckedDriver<MysqlConnection, Handed> {
  /** The connection of each transaction that a handler got. */
  const connections = new WeakMap<object, MysqlConnection>()

  function handedOf(given: MysqlConnection, scope: HandlerScope): Handed {
    const connection = handedClient(given, scope, CONNECTION_RULES)
    const handed = as === undefined ? connection : handedBy(as, connection)
    connections.set(handed, connection)
    return handed as Handed
  }

  const driver: CheckedDriver<MysqlConnection, Handed> = {
    transaction: (
      work,
      endingOf = alwaysCommits,
      { idleMs, isMarked = () => false, readsCommitted = false, onMarkLost } = {},
    ) =>
      onConnection(pool, async (taken) => {
        const { connection } = taken
        const [limit, restore] =
          idleMs === undefined ? ['', ''] : [`, ${limitIdle(idleMs)}`, `, ${RESTORE_IDLE}`]
        // Not START TRANSACTION: after a deadlock the server has rolled back, and would commit each further statement of a handler that
        // caught the error by itself. Without autocommit, these are in a transaction too, which can be rolled back.
        const begin = `SET ${NO_AUTOCOMMIT_KEPT}${limit}`
        // It commits an open transaction.
        const end = `SET autocommit = 1, ${RESTORE_AUTOCOMMIT}${restore}`
        const scope = handlerScope()
        let isEnding = false
        /** A statement that ended the transaction may have left more behind, such as locked tables. */
        let isMarkLost = false

        async function finish({ commits, isMarked: checks }: Ending): Promise<void> {
          if (!commits) await send(connection, ROLLBACK, ROLLBACK_MS)
          else if (checks) await checkMark(STATEMENT_MS)
          await send(connection, end, COMMIT_MS)
          taken.isUsable = !isMarkLost
        }

        async function checkMark(limitMs: number): Promise<void> {
          try {
            await send(connection, CHECK_MARK, limitMs)
          } catch (error) {
            isMarkLost = hasEnded(error)
            throw error
          }
        }

        try {
          const { written } = await send(connection, begin, STATEMENT_MS)
          // The app gave the connection back in a transaction of its own.
          if (isInTransaction(written?.status)) await send(connection, ROLLBACK, ROLLBACK_MS)
          if (readsCommitted) await send(connection, READ_COMMITTED, STATEMENT_MS)
          const result = await scope.run(() =>
            Promise.race([work(connection, handedOf(connection, scope)), taken.lost]),
          )
          const ending = endingOf(result)
          isEnding = true
          await finish(ending)
          return result
        } catch (error) {
          // After a COMMIT that failed, perhaps when it was done, the mark is gone in any case.
          if (!isEnding && isMarked()) {
            const checked = taken.isLost() ? Promise.reject(error) : checkMark(ROLLBACK_MS)
            await checked.catch(() => onMarkLost?.(isMarkLost))
          }
          if (!taken.isLost()) await finish({ commits: false }).catch(() => {})
          throw error
        }
      }),
    query: (connection, sql) => send(connection, sql, STATEMENT_MS),
    reading: (work) =>
      driver.transaction(
        (tx) => work((sql) => driver.query(tx, sql)),
        () => ({ commits: false }),
        {
          readsCommitted: true,
        },
      ),
    async queryHanded(handed, sql) {
      const connection = connections.get(handed as object)
      if (connection === undefined) throw new TypeError(NOT_HANDED)
      return answerOf(await connection.query(asRows(sql)))
    },
    ask: (sql) =>
      onConnection(pool, async (taken) => {
        try {
          const answer = await Promise.race([send(taken.connection, sql, STATEMENT_MS), taken.lost])
          const { status } = answer.written ?? {}
          if (status === undefined || (isAutocommit(status) && !isInTransaction(status))) {
            taken.isUsable = true
            return answer
          }
          // The app gave the connection back in a transaction of its own: nothing of it, and of this, is kept.
          await send(taken.connection, ROLLBACK, ROLLBACK_MS)
          if (!isAutocommit(status)) throw new StoreError('store_unavailable', NO_AUTOCOMMIT)
          const again = await send(taken.connection, sql, STATEMENT_MS)
          taken.isUsable = true
          return again
        } catch (error) {
          // An error of the server leaves the connection as it was.
          const { fatal, errno } = error as { fatal?: unknown; errno?: unknown }
          taken.isUsable = (fatal === false || isOfServer(error)) && errno !== TOO_LARGE
          throw error
        }
      }),
    hint() {
      const waiting = waitingFor(pool)
      if (waiting === undefined || waiting === 0) return undefined
      return `The pool of the inbox has no idle connection (${waiting} waiting): if the handler uses the pool beside ctx.tx, it waits for the connection that it holds itself. Use ctx.tx alone.`
    },
  }
  return driver
}

/** The most connections of a pool, which mariadb does not show. */
export function limitOf(pool: object): unknown {
  const { config } = (pool as { pool?: { config?: { connectionLimit?: unknown } } }).pool ?? {}
  return config?.connectionLimit
}

interface Taken {
  readonly connection: MysqlConnection
  /** Rejects when the connection is lost. It is never an unhandled rejection. */
  readonly lost: Promise<never>
  isLost(): boolean
  /** Whether it is in no transaction, and has its settings back. At first it is not. */
  isUsable: boolean
  /**
   * A lost one is not given to another. One that is not usable is closed, and its session ended.
   *
   * @param isWrong whether it is to a server that takes no writes: it is closed too
   */
  giveBack(isWrong: boolean): void
}

/** Takes a connection, and gives it back after the work, whatever that comes to: all that use one do so here. */
async function onConnection<T>(pool: MysqlPool, work: (taken: Taken) => Promise<T>): Promise<T> {
  const taken = await take(pool)
  let isWrong = false
  try {
    return await work(taken)
  } catch (error) {
    isWrong = isWrongServer(error)
    throw error
  } finally {
    taken.giveBack(isWrong)
  }
}

/** Takes a connection, or rejects after a while: a statement that waits for one would hold up others. */
async function take(pool: MysqlPool): Promise<Taken> {
  // mariadb gives one that was released in this turn to whoever asks first, so that a busy store could keep all others waiting.
  if ((waitingFor(pool) ?? 0) > 0) await nextTurn()
  const connection = await connectionWithin(pool, STATEMENT_MS)
  // Not awaited: the connection sends it before what follows.
  if (!isMariadb(pool)) void serverOf(connection)
  let isLost = false
  let onLoss: (error?: unknown) => void = () => {}
  const lost = new Promise<never>((_, reject) => {
    onLoss = (error) => {
      isLost = true
      reject(error ?? lostConnection())
    }
  })
  lost.catch(() => {})
  connection.on('error', onLoss)
  connection.on('end', onLoss)
  const taken: Taken = {
    connection,
    lost,
    isLost: () => isLost,
    isUsable: false,
    giveBack(isWrong) {
      const { isUsable } = taken
      connection.removeListener('error', onLoss)
      connection.removeListener('end', onLoss)
      // An error after its end would end the process.
      if (isLost || isWrong || !isUsable) connection.on('error', () => {})
      // mysql2 rejects the statements of a lost one when its socket closes, and never if it is destroyed before: a handler would hang.
      if (isLost || (isUsable && !isWrong)) {
        // That of mariadb is a promise.
        Promise.resolve(connection.release()).catch(() => {})
        return
      }
      connection.destroy()
      // mariadb does so itself, and ends the process if the session has ended before. One that is usable runs no statement.
      if (!isUsable && !isMariadb(pool)) void kill(pool, connection)
    },
  }
  return taken
}

function connectionWithin(pool: MysqlPool, ms: number): Promise<MysqlConnection> {
  const taking = pool.getConnection()
  return within(taking, ms, () => {
    // It comes later, and nobody waits for it.
    taking.then(
      (late) => late.release(),
      () => {},
    )
    throw new StoreError('store_unavailable', `There was no connection within ${ms / 1000} s.`)
  })
}

function lostConnection(): Error {
  return Object.assign(new Error('The connection was closed.'), { code: 'PROTOCOL_CONNECTION_LOST' })
}

/** The server of each connection of mysql2. */
const servers = new WeakMap<object, Promise<string | undefined>>()

/** The name of its server, which is asked once for each connection; `undefined` if that is not known. */
function serverOf(connection: MysqlConnection): Promise<string | undefined> {
  // The pool returns a new wrapper each time.
  const { connection: inner = connection } = connection as { connection?: object }
  const known = servers.get(inner)
  if (known !== undefined) return known
  const asked = send(connection, SERVER, STATEMENT_MS).then(
    ({ rows }) => String(rows[0]?.[0]),
    () => undefined,
  )
  servers.set(inner, asked)
  return asked
}

const SERVER = "SELECT CONCAT_WS(' ', @@hostname, @@port, @@server_id, @@datadir)"

/**
 * Ends the session of a connection that was closed in the middle of a statement: the server would finish the statement first, and keep
 * all locks until then. Only on the same server: after a failover, or behind a balancer, another's session of that number is a stranger's.
 */
async function kill(pool: MysqlPool, closed: MysqlConnection): Promise<void> {
  const { threadId } = closed
  const server = await serverOf(closed)
  if (threadId === null || server === undefined) return
  try {
    const connection = await connectionWithin(pool, STATEMENT_MS)
    try {
      const here = await serverOf(connection)
      // As below: it may be silent.
      if (here === undefined) return connection.destroy()
      if (here === server) await send(connection, `KILL ${threadId}`, STATEMENT_MS)
    } catch (error) {
      // A silent one would hold up whoever gets it next.
      if (!isOfServer(error)) return connection.destroy()
    }
    connection.release()
  } catch {
    // There is no server: then it ends with its socket.
  }
}

async function send(connection: MysqlConnection, sql: string, limitMs: number): Promise<Answer> {
  const answer = await within(connection.query(asRows(sql)), limitMs, () => {
    throw new StoreError('store_unavailable', `The database did not answer within ${limitMs / 1000} s.`)
  })
  return answerOf(answer)
}

/** A statement whose rows are lists, whatever the pool is set to. */
function asRows(sql: string): Parameters<MysqlConnection['query']>[0] {
  return { sql, rowsAsArray: true, nestTables: false, metaAsArray: false }
}

/** Of a statement that is larger than max_allowed_packet: the server then closes the connection. */
const TOO_LARGE = 1153

/** Errors of the server have a number and a state. */
function isOfServer(error: unknown): boolean {
  const { errno, sqlState, fatal } = error as { errno?: unknown; sqlState?: unknown; fatal?: unknown }
  return fatal !== true && typeof errno === 'number' && typeof sqlState === 'string'
}

/** The flags of the protocol. */
function isInTransaction(status: number | undefined): boolean {
  return status !== undefined && (status & 1) !== 0
}

function isAutocommit(status: number): boolean {
  return (status & 2) !== 0
}

function isMariadb(pool: MysqlPool): boolean {
  return hasMethod(pool, 'taskQueueSize')
}

function waitingFor(pool: MysqlPool): number | undefined {
  const { pool: inner, taskQueueSize } = pool as {
    pool?: { _connectionQueue?: { length?: number } }
    taskQueueSize?: () => number
  }
  return typeof taskQueueSize === 'function' ? taskQueueSize.call(pool) : inner?._connectionQueue?.length
}
