import { connect } from 'node:net'
import { Pool } from 'pg'
import { postgresInbox, postgresStore } from 'tix-webhooks/postgres'
import { type WebSocket, WebSocketServer } from 'ws'
import { startPgBouncer } from '../../test/support/pgbouncer-server.js'
import { startPostgres } from '../../test/support/postgres-server.js'
import { startRedis } from '../../test/support/redis-server.js'
import { startUpstash, UPSTASH_TOKEN } from '../../test/support/upstash.js'
import { ROWS } from '../servers/backends/postgres.js'
import type { Lane } from './lane.js'

/** The databases of a run, and the variables that tell the servers of the lanes where they are. */
export interface Stores {
  readonly env: Readonly<Record<string, string>>
  stop(): Promise<void>
}

/** Starts, if one of the lanes needs them, a Redis with Upstash's REST protocol and a Postgres with PgBouncer and Neon's proxy before them. */
export async function startStores(lanes: readonly Lane[]): Promise<Stores> {
  const needed = lanes.flatMap(({ needs = [] }) => needs)
  if (needed.length === 0) return { env: {}, stop: async () => {} }
  const [redis, postgres] = await Promise.all([startRedis(), startPostgres()])
  // Hyperdrive wants a password; the server asks for none.
  const url = new URL(postgres.url)
  url.password = 'unused'
  const [upstash, pgbouncer] = await Promise.all([
    startUpstash(redis.url),
    needed.includes('pgbouncer') ? startPgBouncer(url) : undefined,
  ])
  const neon = await startNeonProxy(Number(url.port))
  await prepare(url.href)
  return {
    env: {
      REDIS_URL: redis.url,
      DATABASE_URL: url.href,
      ...(pgbouncer && { PGBOUNCER_URL: pgbouncer.url }),
      UPSTASH_URL: upstash.url,
      UPSTASH_TOKEN,
      NEON_PROXY: neon.address,
    },
    async stop() {
      neon.stop()
      await Promise.all([upstash.close(), pgbouncer?.stop()])
      await Promise.all([redis.stop(), postgres.stop()])
    },
  }
}

/** The tables that all lanes share: the endpoints have namespaces, and the orders random ids. */
async function prepare(url: string): Promise<void> {
  const pool = new Pool({ connectionString: url })
  await postgresStore(pool).migrate()
  await postgresInbox(pool).migrate()
  await pool.query(`CREATE TABLE ${ROWS} (id text)`)
  await pool.end()
}

/** Carries the bytes of WebSockets to Postgres, as Neon's proxy does. */
async function startNeonProxy(port: number): Promise<{ address: string; stop(): void }> {
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0 })
  server.on('connection', (socket: WebSocket) => {
    const database = connect(port, '127.0.0.1')
    socket.on('message', (bytes: Buffer) => database.write(bytes))
    socket.on('close', () => database.destroy())
    database.on('data', (bytes) => socket.send(bytes))
    database.on('close', () => socket.close()).on('error', () => socket.close())
  })
  await new Promise((resolve) => server.once('listening', resolve))
  return {
    address: `127.0.0.1:${(server.address() as { port: number }).port}`,
    stop() {
      for (const client of server.clients) client.terminate()
      server.close()
    },
  }
}
