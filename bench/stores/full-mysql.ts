import mysql, { type Pool } from 'mysql2/promise'
import { mysqlStore } from 'tix-webhooks/mysql'
import { startMysql } from '../../test/support/mysql-server.js'
import type { Bench } from '../support/bench.js'
import { keyOf, LEASE_MS, nextToken, RETAIN_MS } from './contender.js'
import type { Counts, Full } from './full.js'
import { inBench, makeMysqlTables } from './mysql.js'

/** Columns that differ from row to row. */
const TIMED = ['event_key', 'expires_at', 'received_at']

export async function fullMysql(bench: Bench, { few, many }: Counts): Promise<Full> {
  bench.progress(`MySQL: ${many} events`)
  const server = await startMysql({
    settings: { innodb_flush_log_at_trx_commit: 0, innodb_buffer_pool_size: '1G' },
  })
  await makeMysqlTables(server.url)
  const pool = mysql.createPool({ uri: inBench(server.url), connectionLimit: 16 })
  await fill(pool, 'few', few)
  await fill(pool, 'many', many)
  const bytes = await sizeOf(pool, 'many')
  await pool.query('CREATE TABLE many_by_hand (id VARBINARY(255) PRIMARY KEY, state VARCHAR(9) NOT NULL)')
  await pool.query(`INSERT INTO many_by_hand SELECT ${keyOfRow}, 'completed' FROM seq_1_to_${many}`)
  const byHand = await sizeOf(pool, 'many_by_hand')
  return {
    name: 'mysqlStore, mysql2',
    few: mysqlStore(pool, { table: 'few' }),
    many: mysqlStore(pool, { table: 'many' }),
    sizes: [
      { what: 'mysqlStore', bytesPerEvent: bytes / many },
      { what: 'MySQL by hand: a key and a state', bytesPerEvent: byHand / many },
    ],
    async close() {
      await pool.end()
      await server.stop()
    },
  }
}

const keyOfRow = `CONCAT('${keyOf(0).slice(0, -10)}', LPAD(seq, 10, '0'))`

/** The server copies a record made by the store, claimed and completed; the rows expire a millisecond apart. */
async function fill(pool: Pool, table: string, count: number): Promise<void> {
  const store = mysqlStore(pool, { table })
  await store.migrate()
  const lease = { key: 'sample', token: nextToken() }
  await store.claim({ ...lease, leaseMs: LEASE_MS, retainMs: RETAIN_MS })
  await store.complete(lease, RETAIN_MS)
  await pool.query(`CREATE TABLE ${table}_sample AS SELECT * FROM ${table}`)
  await pool.query(`TRUNCATE ${table}`)
  const [columns] = await pool.query<mysql.RowDataPacket[]>(`SHOW COLUMNS FROM ${table}`)
  const others = columns
    .map(({ Field }) => String(Field))
    .filter((column) => !TIMED.includes(column))
    .map((column) => `\`${column}\``)
    .join(', ')
  await pool.query(
    `INSERT INTO ${table} (${TIMED.join(', ')}, ${others})
     SELECT ${keyOfRow}, expires_at + seq, received_at + seq, ${others}
     FROM seq_1_to_${count}, ${table}_sample`,
  )
}

/** The disk space of the table and its index. */
async function sizeOf(pool: Pool, table: string): Promise<number> {
  const [rows] = await pool.query<mysql.RowDataPacket[]>(
    "SELECT SUM(FILE_SIZE) AS size FROM information_schema.INNODB_SYS_TABLESPACES WHERE NAME LIKE CONCAT('bench/', ?)",
    [table],
  )
  return Number(rows[0]?.size)
}
