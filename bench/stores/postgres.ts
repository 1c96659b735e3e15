import { Pool } from 'pg'
import postgres from 'postgres'
import { postgresInbox, postgresStore } from 'tix-webhooks/postgres'
import type { Goal } from '../support/goal.js'
import {
  type Arena,
  type Contender,
  IN_FLIGHT,
  LEASE_MS,
  NEARLY_AS_FAST,
  nextToken,
  RETAIN_MS,
  throughInbox,
  throughStore,
} from './contender.js'

/** Runs one statement: on any connection, or in a transaction. Returns the number of changed rows. */
type Send = (statement: string, parameters: unknown[]) => Promise<number>

const LEAN_STORE = 'INSERT ON CONFLICT DO NOTHING, then UPDATE'
const SAME_STORE = "the same in a table of the store's columns"

interface Library {
  readonly name: string
  /** As its users send. */
  readonly send: Send
  /** As a named statement, if that is not the default. */
  readonly sendNamed?: Send
  /** In a transaction, which is rolled back if `work` returns false. */
  transact(work: (send: Send) => Promise<boolean>): Promise<boolean>
  close(): Promise<void>
}

/** A table with a key and as little else as possible. */
const LEAN = 'by_hand'
/** The store's own columns and index. */
const SAME = 'by_hand_same'
const LEAN_ONCE = 'by_hand_once'
const SAME_ONCE = 'by_hand_once_same'

/** For an inbox, compared with the bare commands. */
const INBOX_GOAL: Goal = { atLeast: 0.85 }

const EFFECT = 'INSERT INTO effects (key) VALUES ($1)'

/** The tables of all arenas, once per server. */
export async function makeTables(url: string): Promise<void> {
  const pool = new Pool({ connectionString: url, max: 1 })
  await postgresStore(pool).migrate()
  await postgresStore(pool, { table: SAME }).migrate()
  await postgresInbox(pool).migrate()
  await postgresInbox(pool, { table: SAME_ONCE }).migrate()
  await pool.query(`CREATE TABLE IF NOT EXISTS ${LEAN} (key text PRIMARY KEY, state text NOT NULL)`)
  await pool.query(`CREATE TABLE IF NOT EXISTS ${LEAN_ONCE} (key text PRIMARY KEY)`)
  await pool.query('CREATE TABLE IF NOT EXISTS effects (key text NOT NULL)')
  await pool.end()
}

/** One connection for each concurrent delivery. */
export async function postgresArenas(url: string, connections = Math.max(...IN_FLIGHT)): Promise<Arena[]> {
  const pool = new Pool({ connectionString: url, max: connections })
  const sql = postgres(url, { max: connections, onnotice: () => {} })
  const pg = libraryOfPg(pool)
  const postgresJs = libraryOfPostgresJs(sql)
  return [
    storeArena(pg, throughStore('postgresStore', postgresStore(pool))),
    storeArena(postgresJs, throughStore('postgresStore', postgresStore(sql))),
    inboxArena(
      pg,
      throughInbox('postgresInbox', postgresInbox(pool), (tx, key) => tx.query(EFFECT, [key])),
    ),
    inboxArena(
      postgresJs,
      throughInbox(
        'postgresInbox',
        postgresInbox(sql),
        (tx, key) => tx`INSERT INTO effects (key) VALUES (${key})`,
      ),
    ),
  ]
}

function storeArena({ name, send, sendNamed, close }: Library, ours: Contender): Arena {
  const goal = NEARLY_AS_FAST
  const byHand = [
    { name: LEAN_STORE, goal, deliver: leanly(send) },
    { name: SAME_STORE, goal, deliver: inTheSameColumns(send) },
  ]
  return {
    name: `postgresStore, ${name}`,
    ours,
    byHand:
      sendNamed === undefined
        ? byHand
        : [
            ...byHand,
            { name: `${LEAN_STORE}, with named statements`, deliver: leanly(sendNamed) },
            { name: `${SAME_STORE}, with named statements`, deliver: inTheSameColumns(sendNamed) },
          ],
    inFlight: IN_FLIGHT,
    close,
  }
}

function leanly(send: Send): Contender['deliver'] {
  return async (key) => {
    const insert = `INSERT INTO ${LEAN} (key, state) VALUES ($1, $2) ON CONFLICT DO NOTHING`
    if ((await send(insert, [key, 'running'])) === 0) return false
    await send(`UPDATE ${LEAN} SET state = $2 WHERE key = $1`, [key, 'completed'])
    return true
  }
}

function inTheSameColumns(send: Send): Contender['deliver'] {
  return async (key) => {
    const token = nextToken()
    const insert = `INSERT INTO ${SAME} (key, state, attempt, token, lease_until, expires_at, purge_after) VALUES ($1, 'running', 1, $2, now() + $3 * interval '1 ms', now() + $4 * interval '1 ms', now() + $4 * interval '1 ms') ON CONFLICT DO NOTHING`
    if ((await send(insert, [key, token, LEASE_MS, RETAIN_MS])) === 0) return false
    const update = `UPDATE ${SAME} SET state = 'completed', expires_at = now() + $3 * interval '1 ms' WHERE key = $1 AND token = $2`
    await send(update, [key, token, RETAIN_MS])
    return true
  }
}

function inboxArena({ name, transact, close }: Library, ours: Contender): Arena {
  const byHand = (what: string, insert: string, ...parameters: unknown[]): Contender => ({
    name: what,
    goal: INBOX_GOAL,
    deliver: (key) =>
      transact(async (send) => {
        if ((await send(insert, [key, ...parameters])) === 0) return false
        await send(EFFECT, [key])
        return true
      }),
  })
  return {
    name: `postgresInbox, ${name}`,
    ours,
    byHand: [
      byHand(
        'BEGIN, INSERT ON CONFLICT DO NOTHING, effect, COMMIT',
        `INSERT INTO ${LEAN_ONCE} (key) VALUES ($1) ON CONFLICT DO NOTHING`,
      ),
      byHand(
        "the same in a table of the inbox's columns",
        `INSERT INTO ${SAME_ONCE} (key, expires_at) VALUES ($1, now() + $2 * interval '1 ms') ON CONFLICT DO NOTHING`,
        RETAIN_MS,
      ),
    ],
    inFlight: IN_FLIGHT,
    close,
  }
}

function libraryOfPg(pool: Pool): Library {
  return {
    name: 'pg',
    send: async (statement, parameters) => (await pool.query(statement, parameters)).rowCount ?? 0,
    sendNamed: async (text, values) => {
      // Each of them begins differently.
      const name = text.slice(0, 24)
      return (await pool.query({ name, text, values })).rowCount ?? 0
    },
    async transact(work) {
      const client = await pool.connect()
      try {
        await client.query('BEGIN')
        const isNew = await work(async (statement, parameters) => {
          return (await client.query(statement, parameters)).rowCount ?? 0
        })
        await client.query(isNew ? 'COMMIT' : 'ROLLBACK')
        return isNew
      } finally {
        client.release()
      }
    },
    close: once(() => pool.end()),
  }
}

function libraryOfPostgresJs(sql: postgres.Sql): Library {
  // As its tagged templates do.
  const prepared = { prepare: true }
  return {
    name: 'postgres.js',
    send: async (statement, parameters) =>
      (await sql.unsafe(statement, parameters as never[], prepared)).count,
    transact: async (work) =>
      Boolean(
        await sql.begin((tx) =>
          work(
            async (statement, parameters) =>
              (await tx.unsafe(statement, parameters as never[], prepared)).count,
          ),
        ),
      ),
    close: once(() => sql.end()),
  }
}

/** Two arenas share a pool. */
function once(close: () => Promise<void>): () => Promise<void> {
  let closed: Promise<void> | undefined
  return () => {
    closed ??= close()
    return closed
  }
}
