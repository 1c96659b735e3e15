import { mkdtempSync, rmSync } from 'node:fs'
import type { Server } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type Libsql from 'libsql'
import type pg from 'pg'
import { interruptions, type SignedDelivery, signedDelivery } from 'tix-webhooks/testing'
import { beforeEach, expect, test, vi } from 'vitest'
import { SECRET } from '../support/deliveries.js'
import { exampleEnvironment, schemaUrl } from '../support/examples.js'
import { portOf } from '../support/http.js'
import { onPostgres } from '../support/on-servers.js'
import { testDatabase } from '../support/postgres-database.js'
import { ROOT } from '../support/root.js'

/** The outside world of an example: the classes by which it reaches a database. */
interface World {
  readonly Pool: typeof pg.Pool
  readonly Database: typeof Libsql
}

/** The world as the process that starts now is shown it. */
let shown: World | undefined

/** A class of the world, under the name that the example imports. */
function ofWorld<Name extends keyof World>(name: Name): World[Name] {
  return new Proxy(class {}, {
    construct: (_, args) =>
      new ((shown ?? { Pool, Database })[name] as new (...all: unknown[]) => object)(...args),
  }) as never
}

/** The real ones. */
const [{ Pool }, { default: Database }] = await Promise.all([
  vi.importActual<typeof pg>('pg'),
  vi.importActual<{ default: typeof Libsql }>('libsql'),
])

vi.mock('pg', async (original) => ({ ...(await original<object>()), Pool: ofWorld('Pool') }))
vi.mock('libsql', () => ({ default: ofWorld('Database') }))

interface Example {
  readonly server: Server
  readonly pool?: pg.Pool
  readonly db?: { close(): void }
}

exampleEnvironment()
let processes = 0

/** Starts an example as it is in the file, with its own pool, server and route. */
async function start(file: string, world: World, path = '/hooks') {
  shown = world
  const example: Example = await import(
    /* @vite-ignore */ `${ROOT}examples/${file}.ts?process=${processes++}`
  )
  const { server, pool, db } = example
  const port = await portOf(server)
  return {
    send: async (delivery: SignedDelivery) => {
      const response = await fetch(`http://localhost:${port}${path}`, delivery)
      return { status: response.status, payload: await response.text() }
    },
    async close() {
      server.close()
      server.closeAllConnections()
      await pool?.end()
      db?.close()
    },
  }
}

beforeEach(() => {
  shown = undefined
  vi.spyOn(process, 'once').mockReturnValue(process)
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

  test.each(INTERRUPTED)(
    '$file',
    async ({ file, table, kind, path }) => {
      // It makes its tables at its first start.
      const { close } = await start(file, { Pool, Database }, path)
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
          return { Pool, Database }
        },
        start: (world) => start(file, world, path),
        delivery: await signedDelivery(kind, { secret: SECRET }),
      })
      expect(all.length).toBeGreaterThan(20)
      for (const { name, run, story } of all) {
        await run()
        expect(await database.query(`TABLE ${table}`), `${name}\n${story()}`).toHaveLength(1)
      }
    },
    60_000,
  )
})

test('whatever call it is interrupted at, the example of SQLite issues the tickets of an order once, and one mail', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tix-webhooks-interrupted-'))
  let runs = 0
  const all = await interruptions({
    prepare() {
      vi.stubEnv('DATABASE_FILE', join(folder, `${runs++}.db`))
      return { Pool, Database }
    },
    start: (world) => start('sqlite', world),
    delivery: await signedDelivery('order.created', { secret: SECRET, data: { tickets: [{}, {}] } }),
  })
  expect(all.length).toBeGreaterThan(20)
  for (const { name, run, story } of all) {
    await run()
    const db = new Database(join(folder, `${runs - 1}.db`))
    const count = (table: string) => db.prepare(`SELECT id FROM ${table}`).all().length
    expect([count('tickets'), count('outbox')], `${name}\n${story()}`).toEqual([2, 1])
    db.close()
  }
  rmSync(folder, { recursive: true })
}, 60_000)
