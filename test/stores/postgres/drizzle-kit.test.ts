import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { Client, Pool } from 'pg'
import { ddl, postgresInbox } from 'tix-webhooks/postgres'
import { expect, onTestFinished, test } from 'vitest'
import { snippetsFolder, snippetsOf } from '../../support/compile.js'
import { onPostgres, postgresUrl } from '../../support/on-servers.js'
import { ROOT } from '../../support/root.js'

const TABLES = ['tix_webhooks_events', 'tix_webhooks_events_newest']
/** In the schema `webhooks`. */
const OWN = ['inbox', 'inbox_newest']
const FILTER = /^ *tablesFilter: .*\n/m

/** A database of its own: drizzle-kit drops what it finds in the schema `public`. */
async function ownDatabase(): Promise<{ url: string; tables(): Promise<string[]> }> {
  const name = `tix_${randomBytes(6).toString('hex')}`
  const server = new Client(postgresUrl())
  await server.connect()
  await server.query(`CREATE DATABASE ${name}`)
  const url = new URL(postgresUrl())
  url.pathname = name
  const client = new Client(url.href)
  await client.connect()
  await client.query(ddl)
  await client.query('CREATE SCHEMA webhooks')
  await client.query(postgresInbox(new Pool(), { table: 'webhooks.inbox' }).ddl)
  onTestFinished(async () => {
    await client.end()
    await server.query(`DROP DATABASE ${name}`)
    await server.end()
  })
  return {
    url: url.href,
    async tables() {
      const { rows } = await client.query(
        "SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace IN ('public'::regnamespace, 'webhooks'::regnamespace) ORDER BY relnamespace::regnamespace::text, relname",
      )
      return rows.map(({ relname }) => relname)
    },
  }
}

/** Pushes a schema with one table of the user's. */
async function push(config: string, url: string): Promise<void> {
  const { write, remove } = snippetsFolder()
  try {
    write(
      'schema',
      "import { pgTable, text } from 'drizzle-orm/pg-core'\nexport const orders = pgTable('orders', { id: text() })\n",
    )
    const file = write('drizzle.config', config)
    await promisify(execFile)(
      process.execPath,
      [join(ROOT, 'node_modules/drizzle-kit/bin.cjs'), 'push', '--force', '--config', 'drizzle.config.ts'],
      { cwd: dirname(file), env: { ...process.env, PGOPTIONS: '', DATABASE_URL: url } },
    )
  } finally {
    remove()
  }
}

onPostgres('drizzle-kit push', () => {
  test('leaves our tables alone with the configuration of docs/stores.md, and drops them without, but in a schema of their own', async () => {
    const [config = ''] = snippetsOf('docs/stores.md', 'ts').filter((code) => FILTER.test(code))
    const { url, tables } = await ownDatabase()
    await push(config, url)
    expect(await tables()).toEqual(['orders', ...TABLES, ...OWN])
    await push(config.replace(FILTER, ''), url)
    expect(await tables()).toEqual(['orders', ...OWN])
  })
})
