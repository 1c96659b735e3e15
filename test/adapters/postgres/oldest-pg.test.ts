import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import type { Pool } from 'pg'
import { postgresInbox } from 'tix-webhooks/postgres'
import { expect, onTestFinished, test } from 'vitest'
import { orderCreated } from '../../support/deliveries.js'
import { onPostgres } from '../../support/on-servers.js'
import { testDatabase } from '../../support/postgres-database.js'
import { endpoint } from '../../support/postgres-endpoint.js'
import { ROOT } from '../../support/root.js'

const require = createRequire(import.meta.url)

// 8.0.2 and older wait for ever for a connection on Node 14 and newer.
onPostgres('the oldest pg that package.json allows', () => {
  const database = testDatabase('CREATE TABLE effects (id text)')

  test('has an effect exactly once', async () => {
    const { peerDependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
    expect(peerDependencies.pg).toBe(`^${require('pg803/package.json').version}`)
    const old = require('pg803') as { Pool: typeof Pool }
    const pool: Pool = new old.Pool({ connectionString: database.url })
    onTestFinished(() => pool.end())
    // It does not read the options of a connection yet.
    pool.on('connect', (client) => client.query(`SET search_path = ${database.schema}`))
    const inbox = postgresInbox(pool)
    await inbox.migrate()
    const { send } = await endpoint({
      inbox,
      on: { 'order.created': (_event, { tx }) => tx.query("INSERT INTO effects VALUES ('once')") },
    })
    const order = orderCreated()
    expect(await send(order)).toEqual({ status: 200, outcome: 'handled' })
    expect((await send(order)).outcome).toBe('duplicate')
    expect(await database.column('SELECT id FROM effects')).toEqual(['once'])
  })
})
