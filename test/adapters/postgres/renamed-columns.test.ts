import { CamelCasePlugin, Kysely, PostgresDialect } from 'kysely'
import { types } from 'pg'
import postgres from 'postgres'
import { ddl, postgresInbox, postgresStore } from 'tix-webhooks/postgres'
import { expect, test } from 'vitest'
import { onPostgres } from '../../support/on-servers.js'
import { kyselyDriver, openPg, openPostgresJs } from '../../support/postgres-clients.js'
import { testDatabase } from '../../support/postgres-database.js'

const once = { retainMs: 60_000 }
const nothing = async (): Promise<void> => {}

onPostgres('columns that the user’s client renames', () => {
  const database = testDatabase(ddl)

  test.each([
    ['postgres.camel', postgres.camel],
    ['postgres.pascal', postgres.pascal],
    ['postgres.kebab', postgres.kebab],
    ['a function', { column: (name: string) => `_${name}` }],
  ])('do not disturb the store or the inbox over postgres.js with %s', async (name, transform) => {
    const sql = openPostgresJs(database, {}, { transform })
    const store = postgresStore(sql)
    const claim = { key: name, token: 'a', leaseMs: 60_000, retainMs: 60_000 }
    expect(await store.claim(claim)).toEqual({ status: 'claimed', attempt: 1 })
    expect(await store.claim({ ...claim, token: 'b' })).toMatchObject({ status: 'in_flight' })
    expect(await store.complete(claim, 60_000)).toBe(true)
    expect(await store.claim(claim)).toEqual({ status: 'completed' })

    const inbox = postgresInbox(sql)
    await inbox.migrate()
    expect(await inbox.once({ key: name, ...once }, nothing)).toEqual({ status: 'handled' })
    expect(await inbox.once({ key: name, ...once }, nothing)).toEqual({ status: 'duplicate' })
  })

  test('whose booleans it changes as well are not taken for an event in flight', async () => {
    // An app may set this for all its clients with `types.setTypeParser`.
    const pool = openPg(database)
    const asWords = {
      getTypeParser: (oid: number, format?: 'text' | 'binary') =>
        oid === types.builtins.BOOL
          ? (value: string) => (value === 't' ? 'yes' : 'no')
          : types.getTypeParser(oid, format),
    }
    Object.assign(pool.options, { types: asWords })
    const claim = { key: 'words', token: 'a', leaseMs: 60_000, retainMs: 60_000 }
    const misread = { code: 'store_misbehaved', message: expect.stringMatching(/type parser/) }
    await expect(postgresStore(pool).claim(claim)).rejects.toMatchObject(misread)
    await expect(postgresInbox(pool).once({ key: 'words', ...once }, nothing)).rejects.toMatchObject(misread)
  })

  test('do not disturb the inbox over Kysely with its CamelCasePlugin', async () => {
    const db = new Kysely<Record<never, never>>({
      dialect: new PostgresDialect({ pool: openPg(database) }),
      plugins: [new CamelCasePlugin()],
    })
    const inbox = postgresInbox(kyselyDriver(db))
    await inbox.migrate()
    expect(await inbox.once({ key: 'camel', ...once }, nothing)).toEqual({ status: 'handled' })
    expect(await inbox.once({ key: 'camel', ...once }, nothing)).toEqual({ status: 'duplicate' })
  })
})
