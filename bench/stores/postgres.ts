import { Pool } from 'pg'
import postgres from 'postgres'
import { postgresInbox, postgresStore } from 'tix-webhooks/postgres'
import { type Arena, type Contender, throughInbox, throughStore } from './contender.js'

/** Runs one statement, and returns the number of changed rows. */
type Send = (statement: string, parameters: unknown[]) => Promise<number>

const EFFECT = 'INSERT INTO effects (key) VALUES ($1)'

/** The tables of all arenas, once per server. By hand, they have as little as possible. */
export async function makeTables(url: string): Promise<void> {
  const pool = new Pool({ connectionString: url, max: 1 })
  await postgresStore(pool).migrate()
  await postgresInbox(pool).migrate()
  await pool.query('CREATE TABLE IF NOT EXISTS by_hand (key text PRIMARY KEY, state text NOT NULL)')
  await pool.query('CREATE TABLE IF NOT EXISTS by_hand_once (key text PRIMARY KEY)')
  await pool.query('CREATE TABLE IF NOT EXISTS effects (key text NOT NULL)')
  await pool.end()
}

/** Stores through both clients, each with a pool of this many connections. */
export function storeArenas(url: string, connections: number): Arena[] {
  return [pgStore(url, connections), postgresJsStore(url, connections)]
}

export function inboxArenas(url: string, connections: number): Arena[] {
  return [pgInbox(url, connections), postgresJsInbox(url, connections)]
}

export function pgStore(url: string, connections: number): Arena {
  const pool = new Pool({ connectionString: url, max: connections })
  const ours = throughStore('postgresStore, pg', postgresStore(pool))
  // Few users name their statements, but it is what a fair comparison needs.
  const send: Send = async (text, values) =>
    (await pool.query({ name: text.slice(0, 24), text, values })).rowCount ?? 0
  return { ours, byHand: storeByHand(send), close: () => pool.end() }
}

function postgresJsStore(url: string, connections: number): Arena {
  const sql = postgres(url, { max: connections, onnotice: () => {} })
  const ours = throughStore('postgresStore, postgres.js', postgresStore(sql))
  return { ours, byHand: storeByHand(sendOf(sql)), close: () => sql.end() }
}

export function pgInbox(url: string, connections: number): Arena {
  const pool = new Pool({ connectionString: url, max: connections })
  const byHand = inboxByHand(async (work) => {
    const client = await pool.connect()
    try {
      await client.query('BEGIN')
      const isNew = await work(
        async (statement, parameters) => (await client.query(statement, parameters)).rowCount ?? 0,
      )
      await client.query(isNew ? 'COMMIT' : 'ROLLBACK')
      return isNew
    } finally {
      client.release()
    }
  })
  const ours = throughInbox('postgresInbox, pg', postgresInbox(pool), (tx, key) => tx.query(EFFECT, [key]))
  return { ours, byHand, close: () => pool.end() }
}

function postgresJsInbox(url: string, connections: number): Arena {
  const sql = postgres(url, { max: connections, onnotice: () => {} })
  const byHand = inboxByHand(async (work) => Boolean(await sql.begin((tx) => work(sendOf(tx)))))
  const ours = throughInbox(
    'postgresInbox, postgres.js',
    postgresInbox(sql),
    (tx, key) => tx`INSERT INTO effects (key) VALUES (${key})`,
  )
  return { ours, byHand, close: () => sql.end() }
}

/** Prepared, as its tagged templates are. */
function sendOf(sql: Pick<postgres.Sql, 'unsafe'>): Send {
  return async (statement, parameters) =>
    (await sql.unsafe(statement, parameters as never[], { prepare: true })).count
}

function storeByHand(send: Send): Contender {
  return {
    name: 'INSERT ON CONFLICT DO NOTHING, then UPDATE',
    async deliver(key) {
      const insert = 'INSERT INTO by_hand (key, state) VALUES ($1, $2) ON CONFLICT DO NOTHING'
      if ((await send(insert, [key, 'running'])) === 0) return false
      await send('UPDATE by_hand SET state = $2 WHERE key = $1', [key, 'completed'])
      return true
    },
  }
}

function inboxByHand(transact: (work: (send: Send) => Promise<boolean>) => Promise<boolean>): Contender {
  return {
    name: 'BEGIN, INSERT ON CONFLICT DO NOTHING, effect, COMMIT',
    deliver: (key) =>
      transact(async (send) => {
        const insert = 'INSERT INTO by_hand_once (key) VALUES ($1) ON CONFLICT DO NOTHING'
        if ((await send(insert, [key])) === 0) return false
        await send(EFFECT, [key])
        return true
      }),
  }
}
