import type { Server } from 'node:http'
import type pg from 'pg'
import { interruptions, type SignedDelivery, signedDelivery } from 'tix-webhooks/testing'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { SECRET } from '../support/deliveries.js'
import { exampleEnvironment, schemaUrl } from '../support/examples.js'
import { portOf } from '../support/http.js'
import { onPostgres } from '../support/on-servers.js'
import { testDatabase } from '../support/postgres-database.js'
import { ROOT } from '../support/root.js'

/** The outside world of an example: the class by which it reaches the database. */
interface World {
  readonly Pool: typeof pg.Pool
}

/** The world as the process that starts now is shown it. */
let shown: World | undefined

const { Pool } = await vi.importActual<typeof pg>('pg')

vi.mock('pg', async (original) => ({
  ...(await original<object>()),
  Pool: new Proxy(class {}, { construct: (_, args) => new (shown?.Pool ?? Pool)(...args) }),
}))

interface Example {
  readonly server: Server
  readonly pool: pg.Pool
}

exampleEnvironment()
let processes = 0

/** Starts an example as it is in the file, with its own pool, server and route. */
async function start(file: string, world: World, path: string) {
  shown = world
  const example: Example = await import(
    /* @vite-ignore */ `${ROOT}examples/${file}.ts?process=${processes++}`
  )
  const { server, pool } = example
  const port = await portOf(server)
  return {
    send: async (delivery: SignedDelivery) => {
      const response = await fetch(`http://localhost:${port}${path}`, delivery)
      return { status: response.status, payload: await response.text() }
    },
    async close() {
      server.close()
      server.closeAllConnections()
      await pool.end()
    },
  }
}

beforeEach(() => {
  vi.spyOn(process, 'once').mockReturnValue(process)
})
afterEach(() => {
  // The files after this one in its process may get the mock too, and the last world shown here is an interrupted one.
  shown = undefined
})
const order = { kind: 'order.created', path: '/hooks' } as const
const published = { kind: 'event.published', path: '/hooks' } as const

const INTERRUPTED = [
  { file: 'postgres', table: 'orders', ...order },
  { file: 'drizzle', table: 'orders', ...order },
  { file: 'kysely', table: 'orders', ...order },
  { file: 'accounts', table: 'shop_orders', ...order, path: '/hooks/acme' },
  { file: 'ordering', table: 'listing', ...published },
]

onPostgres('whatever call it is interrupted at, an example has its effect once:', () => {
  const database = testDatabase()
  beforeEach(() => {
    vi.stubEnv('DATABASE_URL', schemaUrl(database))
  })

  test.each(INTERRUPTED)('$file', async ({ file, table, kind, path }) => {
    // It makes its tables at its first start.
    const { close } = await start(file, { Pool }, path)
    await close()
    const all = await interruptions({
      async prepare() {
        const tables = await database.column('SELECT tablename FROM pg_tables WHERE schemaname = $1', [
          database.schema,
        ])
        await database.query(`TRUNCATE ${tables.join(', ')}`)
        if (file === 'accounts') {
          await database.query('INSERT INTO shops VALUES ($1, $2, $3)', ['acme', [SECRET], 'EUR'])
        }
        return { Pool }
      },
      start: (world) => start(file, world, path),
      delivery: await signedDelivery(kind, { secret: SECRET }),
    })
    expect(all.length).toBeGreaterThan(20)
    for (const { name, run, story } of all) {
      await run()
      expect(await database.query(`TABLE ${table}`), `${name}\n${story()}`).toHaveLength(1)
    }
  })
})
