import { createConnection } from 'mysql2/promise'
import type { Inbox } from 'tix-webhooks'
import { ddl as mysqlDdl } from 'tix-webhooks/mysql'
import { ddl } from 'tix-webhooks/postgres'
import { expect, test } from 'vitest'
import { orderCreated } from '../support/deliveries.js'
import { MYSQL_INBOX_CLIENTS } from '../support/mysql-clients.js'
import { testMysqlDatabase } from '../support/mysql-database.js'
import { mysqlUrl, onMysql, onPostgres } from '../support/on-servers.js'
import { INBOX_CLIENTS } from '../support/postgres-clients.js'
import { testDatabase } from '../support/postgres-database.js'
import { endpoint } from '../support/postgres-endpoint.js'
import { runs } from '../support/runs.js'

const EVENTS = runs(30)

const LANES = 8
const KILLS = ['KILL CONNECTION', 'KILL QUERY'] as const

interface Client<Tx> {
  inbox(): Inbox<Tx>
  run(tx: Tx, statement: string): Promise<unknown>
}

interface Killer {
  /** Ends a connection of the client or its statement, and waits a moment, so that some work gets done in between. */
  kill(): Promise<void>
  /** The ways in which it has killed. */
  readonly killed: ReadonlySet<string>
  /** How many ways there are. */
  readonly ways: number
}

/**
 * Delivers orders while their connections are killed.
 *
 * @param max how many connections there are
 * @param sleep an expression that sleeps for so many seconds
 * @returns the ids of all orders
 */
async function playKills<Tx>(
  client: Client<Tx>,
  { kill, killed, ways }: Killer,
  max: number,
  sleep: (seconds: number) => string,
): Promise<string[]> {
  const { send, hooks } = await endpoint({
    inbox: client.inbox(),
    timeoutSeconds: 5,
    on: {
      'order.created': async (event, { tx }) => {
        await client.run(tx, `INSERT INTO effects VALUES ('${event.data.order.id}')`)
        await client.run(tx, `SELECT ${sleep(0.002)}`)
      },
    },
  })
  let isOver = false
  async function killAtRandom(): Promise<void> {
    while (!isOver) await kill()
  }
  const killing = killAtRandom()

  const orders: ReturnType<typeof orderCreated>[] = []
  async function lane(): Promise<void> {
    // A fast machine may be done before each way of killing was used.
    while (orders.length < EVENTS || killed.size < ways) {
      const order = orderCreated({ id: `order ${orders.length}` })
      orders.push(order)
      while ((await send(order)).status !== 200);
    }
  }
  await Promise.all(Array.from({ length: LANES }, lane))
  isOver = true
  await killing
  await hooks.drain()

  // Every place in the pool can be taken: no finished transaction holds one. The pool may still have a connection that was
  // killed last; its place is free again.
  let inside = 0
  async function take(tries = 100): Promise<void> {
    let isInside = false
    try {
      await client.inbox().once({ key: null, retainMs: 60_000 }, async (tx) => {
        isInside = true
        inside += 1
        while (inside < max) await client.run(tx, `SELECT ${sleep(0.01)}`)
      })
    } catch (error) {
      if (tries === 0) throw error
      if (isInside) inside -= 1
      await take(tries - 1)
    }
  }
  await Promise.all(Array.from({ length: max }, () => take()))
  return orders.map(({ data }) => data.order.id).sort()
}

// An unhandled 'error' or rejection ends the process, and so fails the whole file.
onPostgres.each(INBOX_CLIENTS)('an inbox over $name whose backends are terminated at random', (library) => {
  const database = testDatabase('CREATE TABLE effects (id text)', ddl)

  test.each([1, 5])(
    'has each effect exactly once with %i connections, and loses none for good',
    async (max) => {
      await database.query('TRUNCATE effects, tix_webhooks_events')
      const name = `${database.schema}_${max}`
      const killed = new Set<string>()
      async function kill(): Promise<void> {
        const found = await database.query(
          `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
         WHERE application_name = $1 ORDER BY random() LIMIT 1`,
          [name],
        )
        if (found.length > 0) killed.add('terminated')
        await database.query('SELECT pg_sleep(random() * 0.04)')
      }
      const client = library.open(database, { max, settings: { application_name: name } })
      const ids = await playKills(client, { kill, killed, ways: 1 }, max, (seconds) => `pg_sleep(${seconds})`)
      expect((await database.column('SELECT id FROM effects')).map(String).sort()).toEqual(ids)
      expect([...killed]).toEqual(['terminated'])
    },
  )
})

onMysql.each(MYSQL_INBOX_CLIENTS)('an inbox over $name whose connections are killed at random', (library) => {
  const database = testMysqlDatabase('CREATE TABLE effects (id VARCHAR(64))', mysqlDdl)

  test.each([1, 5])(
    'has each effect exactly once with %i connections, and loses none for good',
    async (max) => {
      await database.query('DELETE FROM effects')
      await database.query('DELETE FROM tix_webhooks_events')
      // It is in another database than those that it kills.
      const killer = await createConnection(mysqlUrl())
      const ask = async (sql: string) => (await killer.query(sql))[0] as Record<string, unknown>[]
      const connections = async (): Promise<unknown[]> => {
        const sql = `SELECT ID AS id FROM information_schema.PROCESSLIST WHERE DB = '${database.name}'`
        return (await ask(sql)).map(({ id }) => id)
      }
      const ofTheTest = await connections()
      let turn = 0
      const killed = new Set<string>()
      async function kill(): Promise<void> {
        // MySQL fails if a statement of any test at that moment has a character that its list cannot show.
        const listed = await connections().catch(() => [])
        const living = listed.filter((id) => !ofTheTest.includes(id))
        const id = living[Math.floor(Math.random() * living.length)]
        const how = KILLS[turn % KILLS.length] as string
        if (id !== undefined) {
          // It may have ended since.
          await ask(`${how} ${id}`).then(
            () => {
              turn += 1
              killed.add(how)
            },
            () => {},
          )
        }
        await ask('SELECT SLEEP(RAND() * 0.04)')
      }
      const client = library.open(database, { connectionLimit: max })
      const ids = await playKills(
        client,
        { kill, killed, ways: KILLS.length },
        max,
        (seconds) => `SLEEP(${seconds})`,
      )
      await killer.end()
      expect((await database.column('SELECT id FROM effects')).map(String).sort()).toEqual(ids)
      expect([...killed].sort()).toEqual(KILLS)
    },
  )
})
