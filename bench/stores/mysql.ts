import { createPool as createMariadb, type Pool as MariadbPool } from 'mariadb'
import mysql, { type ResultSetHeader } from 'mysql2/promise'
import { mysqlInbox, mysqlStore } from 'tix-webhooks/mysql'
import { type Arena, type Contender, throughInbox, throughStore } from './contender.js'

/** Runs one statement, and returns the number of changed rows. */
type Send = (statement: string, parameters: unknown[]) => Promise<number>

const EFFECT = 'INSERT INTO effects (id) VALUES (?)'

/** The tables of all arenas, once per server. By hand, they have as little as possible. */
export async function makeMysqlTables(url: string): Promise<void> {
  const server = await mysql.createConnection(url)
  await server.query('CREATE DATABASE IF NOT EXISTS bench')
  await server.end()
  const pool = mysql.createPool({ uri: inBench(url), connectionLimit: 1 })
  await mysqlStore(pool).migrate()
  await mysqlInbox(pool).migrate()
  await pool.query(
    'CREATE TABLE IF NOT EXISTS by_hand (id VARBINARY(255) PRIMARY KEY, state VARCHAR(9) NOT NULL)',
  )
  await pool.query('CREATE TABLE IF NOT EXISTS by_hand_once (id VARBINARY(255) PRIMARY KEY)')
  await pool.query('CREATE TABLE IF NOT EXISTS effects (id VARBINARY(255) NOT NULL)')
  await pool.end()
}

/** Stores through both clients, each with a pool of this many connections. */
export function mysqlStoreArenas(url: string, connections: number): Arena[] {
  return [mysql2Store(url, connections), mariadbStore(url, connections)]
}

export function mysqlInboxArenas(url: string, connections: number): Arena[] {
  return [mysql2Inbox(url, connections), mariadbInbox(url, connections)]
}

function mysql2Store(url: string, connections: number): Arena {
  const pool = mysql.createPool({ uri: inBench(url), connectionLimit: connections })
  const ours = throughStore('mysqlStore, mysql2', mysqlStore(pool))
  return { ours, byHand: storeByHand(sendOfMysql2(pool)), close: () => pool.end() }
}

function mariadbStore(url: string, connections: number): Arena {
  const pool = mariadbPool(url, connections)
  const ours = throughStore('mysqlStore, mariadb', mysqlStore(pool))
  return { ours, byHand: storeByHand(sendOfMariadb(pool)), close: () => pool.end() }
}

function mysql2Inbox(url: string, connections: number): Arena {
  const pool = mysql.createPool({ uri: inBench(url), connectionLimit: connections })
  const byHand = inboxByHand(async (work) => {
    const connection = await pool.getConnection()
    try {
      await connection.query('START TRANSACTION')
      const isNew = await work(sendOfMysql2(connection))
      await connection.query(isNew ? 'COMMIT' : 'ROLLBACK')
      return isNew
    } finally {
      connection.release()
    }
  })
  const ours = throughInbox('mysqlInbox, mysql2', mysqlInbox(pool), (tx, key) => tx.execute(EFFECT, [key]))
  return { ours, byHand, close: () => pool.end() }
}

function mariadbInbox(url: string, connections: number): Arena {
  const pool = mariadbPool(url, connections)
  const byHand = inboxByHand(async (work) => {
    const connection = await pool.getConnection()
    try {
      await connection.query('START TRANSACTION')
      const isNew = await work(sendOfMariadb(connection))
      await connection.query(isNew ? 'COMMIT' : 'ROLLBACK')
      return isNew
    } finally {
      await connection.release()
    }
  })
  const ours = throughInbox('mysqlInbox, mariadb', mysqlInbox(pool), (tx, key) => tx.execute(EFFECT, [key]))
  return { ours, byHand, close: () => pool.end() }
}

function mariadbPool(url: string, connections: number): MariadbPool {
  const { hostname: host, port, username: user } = new URL(url)
  // The pool would otherwise roll back at each release, a round trip for those by hand and for ours.
  return createMariadb({
    host,
    port: Number(port),
    user,
    database: 'bench',
    connectionLimit: connections,
    noControlAfterUse: true,
  })
}

/** Prepared, which is what a fair comparison needs. */
function sendOfMysql2(client: Pick<mysql.Connection, 'execute'>): Send {
  return async (statement, parameters) =>
    (await client.execute<ResultSetHeader>(statement, parameters as string[]))[0].affectedRows
}

function sendOfMariadb(client: Pick<MariadbPool, 'execute'>): Send {
  return async (statement, parameters) => Number((await client.execute(statement, parameters)).affectedRows)
}

/** The URL of the database of the bench. */
export function inBench(url: string): string {
  const named = new URL(url)
  named.pathname = '/bench'
  return named.href
}

function storeByHand(send: Send): Contender {
  return {
    name: 'INSERT IGNORE, then UPDATE',
    async deliver(key) {
      const insert = 'INSERT IGNORE INTO by_hand (id, state) VALUES (?, ?)'
      if ((await send(insert, [key, 'running'])) === 0) return false
      await send('UPDATE by_hand SET state = ? WHERE id = ?', ['completed', key])
      return true
    },
  }
}

function inboxByHand(transact: (work: (send: Send) => Promise<boolean>) => Promise<boolean>): Contender {
  return {
    name: 'START TRANSACTION, INSERT IGNORE, effect, COMMIT',
    deliver: (key) =>
      transact(async (send) => {
        if ((await send('INSERT IGNORE INTO by_hand_once (id) VALUES (?)', [key])) === 0) return false
        await send(EFFECT, [key])
        return true
      }),
  }
}
